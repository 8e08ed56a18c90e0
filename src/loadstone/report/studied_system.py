"""What a study ran against, and on what, in words."""

from collections.abc import Mapping, Sequence

from loadstone.model.machine import PROCESS
from loadstone.model.records.manifest import StudyManifest
from loadstone.model.system import Clock
from loadstone.study.settings import write_value
from loadstone.study.summary import RunSummary

PLATFORM_NAMES = {PROCESS: "plain processes of this host"}


def describe_system_and_host(manifest: StudyManifest, runs: Sequence[RunSummary]) -> str:
    """Describes the system and the host of the runs in one line."""
    system = describe_system(manifest, runs)
    if manifest.clock is Clock.VIRTUAL:
        return f"{system}, in virtual time: no server was measured"
    host = f"{manifest.host.cpu_model or 'a host'}, {manifest.host.cores_usable or manifest.host.cores or '?'} cores"
    return ", ".join(part for part in (system, describe_machines(runs), f"driver on {host}") if part)


def describe_machines(runs: Sequence[RunSummary]) -> str:
    """Describes the platform of a system that the lab started. It is empty for other systems, and in older answers."""
    platforms = sorted({run.platform for run in runs if run.platform})
    return " and ".join(PLATFORM_NAMES.get(platform, f"platform {platform}") for platform in platforms)


def describe_system(manifest: StudyManifest, runs: Sequence[RunSummary]) -> str:
    """Describes the measured system: the targets of the sides if they differ, else the system that all runs share."""
    targets = {run.request.side.upper(): write_value(run.request.settings.get("target", "")) for run in runs}
    if targets and all(targets.values()):
        each = (f"{side} {target}".strip() for side, target in sorted(targets.items()))
        return f"managed elsewhere: {', '.join(each)}"
    settings = manifest.system.settings.items()
    write_settings = [
        f"{name.replace('_', ' ')} {_setting_text(value)}" for name, value in settings if _is_shown(name, value)
    ]
    return ", ".join([f"kind {manifest.system.kind}", *write_settings])


def _setting_text(value: object) -> str:
    """A setting in words; an end of the network as it is written in addresses."""
    if isinstance(value, Mapping):
        ends = {"host", "port"} == set(value)
        return (
            f"{value['host']}:{value['port']}" if ends else ", ".join(f"{key} {entry}" for key, entry in value.items())
        )
    return str(value)


def _is_shown(name: str, value: object) -> bool:
    return bool(value) and name != "authority_pem" and (name, value) != ("addresses", "all")
