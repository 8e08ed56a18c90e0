"""What would spoil a measurement, on systems that show it and on those that do not."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from loadstone.cli.doctor import format_advice
from loadstone.measure import doctor
from loadstone.measure.doctor import Advice, DoctorFinding, examine
from loadstone.measure.facts import read_host_facts
from loadstone.measure.monitor import Monitor
from loadstone.measure.quota import CpuQuota, read_cpu_quota
from loadstone.model.records.sample import Sample


def group(root: Path, membership: str, files: dict[str, str]) -> CpuQuota | None:
    """The quota of a process with this membership among groups with these files."""
    for name, content in files.items():
        file = root / "fs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (root / "cgroup").write_text(membership)
    return read_cpu_quota(root / "fs", root / "cgroup")


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "4000 100000\n"}, 0.04),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n", "a/cpu.max": "150000 100000\n"}, 0.5),
        ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        ("0::/../elsewhere\n", {"cpu.max": "100000 50000\n"}, 2.0),
        (
            "4:cpu,cpuacct:/pod/x\n1:name=systemd:/pod/x\n",
            {"cpu,cpuacct/pod/x/cpu.cfs_quota_us": "20000", "cpu,cpuacct/pod/x/cpu.cfs_period_us": "100000"},
            0.2,
        ),
        ("4:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "70000", "cpu/cpu.cfs_period_us": "100000"}, 0.7),
        ("4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("nonsense\n0::/a\n", {"a/cpu.max": "what"}, None),
        ("", {}, None),
    ],
)
def test_the_smallest_quota_around_a_process_is_found(
    tmp_path: Path, membership: str, files: dict[str, str], cores: float | None
) -> None:
    quota = group(tmp_path, membership, files)
    assert (quota.cores if quota else None) == cores


def test_a_quota_below_the_cores_is_warned_of_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "read_cpu_quota", lambda: CpuQuota(0.04, "/pod/x"))
    (advice,) = [one for one in examine(tmp_path) if one.matter == "CPU quota"]
    assert advice.finding is DoctorFinding.WARNING
    assert advice.figure.startswith("0.04 of ") and "/pod/x" in advice.figure


def test_what_a_system_does_not_show_is_not_known_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def masked(self: Path, *_: object, **__: object) -> str:
        raise FileNotFoundError(self)

    with monkeypatch.context() as sandbox:
        sandbox.setattr(Path, "read_text", masked)
        sandbox.setattr(Path, "is_file", lambda _: True)
        found = {one.matter: one for one in examine(tmp_path)}
    for matter in ("source ports", "accept queue", "frequency governor", "clock source"):
        assert (found[matter].finding, found[matter].figure) == (DoctorFinding.WARNING, "not known here")
    assert found["CPU quota"].figure == "none"


def raise_as_psutil(*_: object, **__: object) -> object:
    """What psutil does where a masked file of /proc is empty."""
    raise RuntimeError("line 'btime' not found in /proc/stat")


def test_masked_files_of_the_kernel_stop_neither_facts_nor_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("virtual_memory", "swap_memory", "disk_io_counters", "net_io_counters", "cpu_times", "Process"):
        monkeypatch.setattr(psutil, name, raise_as_psutil)
    for name in ("cpu_count", "disk_partitions"):
        monkeypatch.setattr(psutil, name, raise_as_psutil)
    facts = read_host_facts()
    assert (facts.memory_bytes, facts.cores) == (None, None)
    assert facts.cores_usable
    samples: list[Sample] = []

    async def watch() -> None:
        monitoring = asyncio.create_task(Monitor(lambda: {"driver": os.getpid()}, samples.append).run())
        while not samples and not monitoring.done():
            await asyncio.sleep(0.05)
        monitoring.cancel()

    asyncio.run(asyncio.wait_for(watch(), 60))
    assert samples[0].cpu_cores == {} and samples[0].trees == {"driver": None}
    assert {advice.matter: advice.figure for advice in examine(tmp_path)}["free memory"] == "not known here"


def test_a_narrow_terminal_breaks_no_word_of_a_remedy() -> None:
    path = "/var/lib/" + "long/" * 20 + "file"
    remedy = f"Raise the limit in /etc/security/limits.conf, or remove {path} to try again."
    advice = Advice("open files", DoctorFinding.WARNING, "1024, at least 65536", remedy)
    lines = format_advice(advice, 80).splitlines()
    assert lines[0] == "open files: 1024, at least 65536"
    assert " ".join(line.strip() for line in lines[1:]) == remedy
    assert all(len(line) <= 80 for line in lines if path not in line)
