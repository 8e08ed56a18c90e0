"""Whether a declared machine has the programs that a service needs: the host's own, or those of an image."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import DEBIAN, MINIMAL, MachineSpec
from loadstone.model.service import Mechanism
from loadstone.platforms.registry import get_platform_kind
from loadstone.services.kind import ServiceKind


def with_software(
    spec: MachineSpec, kind: ServiceKind, mechanism: Mechanism | None = None, declared: MachineSpec | None = None
) -> MachineSpec:
    """The machine with an image that has the service's packages, where it is of a platform that makes such images and
    none is declared; and with the memory that the service takes, where it has memory of its own. Raises ServiceError
    where programs of this host are missing, PlatformError where the platform has none, or where the image that is
    declared cannot have them. `declared` is the machine without the software of its other services.
    """
    declared = declared or spec
    packages = kind.list_packages(mechanism)
    platform = get_platform_kind(spec.platform)
    if not packages:
        return spec
    if "image" not in platform.fitting:
        refuse_missing(kind.title, packages)
        return _with_memory(spec, kind, declared) if "memory" in platform.fitting else spec
    if declared.image != MINIMAL:
        return spec
    if not platform.installs or "image" in declared.model_fields_set:
        raise PlatformError(
            f"{kind.title} cannot run in {platform.plural} of the image `{MINIMAL}`: use an image that contains it."
        )
    image = _add_packages(spec.image, packages.values())
    return _with_memory(spec, kind, declared).model_copy(update={"image": image})


def _add_packages(image: str, packages: Iterable[str]) -> str:
    """Returns the image that has such packages too."""
    present = image.split("+")[1:]
    return "+".join([DEBIAN, *sorted({*present, *packages})])


def _with_memory(spec: MachineSpec, kind: ServiceKind, declared: MachineSpec) -> MachineSpec:
    """The machine with what the service takes, unless its memory is declared."""
    if "memory" in declared.model_fields_set:
        return spec
    return spec.model_copy(update={"memory": max(spec.memory, kind.memory_mib)})


def refuse_missing(name: str, package_of: Mapping[str, str]) -> None:
    """Names the packages whose files this host does not have. Raises ServiceError."""
    packages = [package for pattern, package in package_of.items() if not has_file(pattern)]
    if packages:
        remedy = f"`apt-get install {' '.join(packages)}`, or `loadstone doctor --install`"
        raise ServiceError(f"{name} needs {', '.join(packages)}: {remedy}.")


def has_file(pattern: str) -> bool:
    """Whether this host has a file, which may be a pattern."""
    return any(Path("/").glob(pattern.lstrip("/")))
