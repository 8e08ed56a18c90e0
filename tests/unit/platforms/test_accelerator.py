"""Detection of KVM: what is stored, until when, and how long the probe may take."""

import asyncio
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.vm import accelerator
from loadstone.platforms.vm.accelerator import DetectedAccelerator, detect_accelerator, read_detected
from loadstone.platforms.vm.settings import Accelerator


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without KVM: a folder for its device `kvm` and the modules of its kernel."""
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(accelerator, "DEVICE", tmp_path / "kvm")
    monkeypatch.setattr(accelerator, "MODULES_FOLDER", tmp_path / "modules")
    return tmp_path


def let_probe_find(monkeypatch: pytest.MonkeyPatch, *answers: Accelerator) -> list[Accelerator]:
    """Replaces the boot of a machine; returns the answers that are left."""
    left = list(answers)

    async def probe() -> DetectedAccelerator:
        return DetectedAccelerator(left.pop(0), "probed")

    monkeypatch.setattr(accelerator, "_probe", probe)
    return left


def detect(requested: Accelerator = Accelerator.AUTO) -> Accelerator:
    return asyncio.run(detect_accelerator(requested)).accelerator


def test_a_module_that_is_loaded_later_is_noticed_without_a_restart(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = let_probe_find(monkeypatch, Accelerator.KVM)
    assert detect() is Accelerator.TCG
    assert read_detected() is None
    (host / "kvm").touch()
    (host / "modules" / "kvm_amd").mkdir(parents=True)
    assert detect() is Accelerator.KVM
    assert not left


def test_a_failed_probe_is_stored_until_kvm_changes(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (host / "kvm").touch()
    left = let_probe_find(monkeypatch, Accelerator.TCG, Accelerator.KVM)
    assert [detect(), detect()] == [Accelerator.TCG, Accelerator.TCG]
    assert len(left) == 1
    (host / "modules" / "kvm_intel").mkdir(parents=True)
    assert detect() is Accelerator.KVM


def test_a_request_for_kvm_is_refused_with_a_remedy_that_fits(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlatformError, match=r"it is not there\. .*load KVM's module"):
        detect(Accelerator.KVM)
    (host / "kvm").touch()
    let_probe_find(monkeypatch, Accelerator.TCG)
    with pytest.raises(PlatformError, match=r"probed\. .*or remove .*accelerator-[0-9a-f]+\.json"):
        detect(Accelerator.KVM)


def test_the_probe_has_a_minute_where_the_processor_virtualizes(host: Path) -> None:
    assert accelerator._probe_timeout_s() == 10
    (host / "modules" / "kvm_amd").mkdir(parents=True)
    assert accelerator._probe_timeout_s() == 60
