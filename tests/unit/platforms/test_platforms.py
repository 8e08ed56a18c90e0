"""Two platforms compared, as a pure question; machines as users declare them; what a journal does and undoes."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from loadstone.host import runtime
from loadstone.host.cores import read_core_list
from loadstone.host.identity import is_still, start_of
from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.status import Status
from loadstone.model.system import Reference
from loadstone.platforms import journal
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.registry import describe_machine, read_machine
from loadstone.platforms.vm.command import Layout, Sockets, build_command
from loadstone.platforms.vm.image import Image, compute_disk_mib
from loadstone.platforms.vm.settings import Accelerator, Cache, Pages, VmSettings
from loadstone.report.build import Format
from loadstone.report.study import render_study
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store.study import StudyFolder
from loadstone.study.base import WorkloadRuns
from loadstone.study.kinds.compare.platforms.answer import PlatformsAnswer, compute_indices
from loadstone.study.kinds.compare.platforms.rows import build_tables
from loadstone.study.kinds.compare.section import CompareSection
from loadstone.study.question import Question
from loadstone.study.registry import list_study_kinds
from loadstone.study.runner import answer_of, build_manifest
from loadstone.study.spec import StudySpec
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.workloads import load as load_workload
from tests.made import ask, carry_out, made


def platform(peak_of_a: float, peak_of_b: float, factor: float) -> Callable[[RunRequest], RunSummary]:
    """Two servers whose response time grows with their use; B takes `factor` times the CPU time."""

    def play(request: RunRequest) -> RunSummary:
        is_b = request.settings["platform"] == "vm"
        used = request.load / (peak_of_b if is_b else peak_of_a)
        p90 = 0.1 / max(0.01, 1.1 - used)
        cpu = (factor if is_b else 1.0) * request.load / 1000
        found = made(
            request,
            "pass" if used <= 1 else "fail",
            good=100.0 if used <= 1 else 50.0,
            throughput=request.load,
            response_p90=p90,
            response_mean=p90 / 2,
            server_cpu=cpu,
            server_cpu_per_operation=cpu / request.load,
            host_cpu=cpu + 0.1,
        )
        return replace(found, accelerator="tcg" if is_b else "", monitors={"host.idle_cores": 1.0})

    return play


def compared(peak_of_a: float, peak_of_b: float, factor: float = 10.0) -> PlatformsAnswer:
    asked = CompareSection(platform=("process", "vm"))
    (question,) = ask(asked, [load_workload("support")], PROFILES["quick"]).questions
    answer, _ = carry_out(question, platform(peak_of_a, peak_of_b, factor))
    assert isinstance(answer, PlatformsAnswer)
    return answer


def test_two_platforms_are_compared_at_their_peaks_and_where_they_part() -> None:
    part = compared(1000, 200)
    assert part.is_answered
    assert part.ratio == pytest.approx(0.2, rel=0.06)
    assert part.cost == pytest.approx(10, rel=0.01)
    assert part.typical.load == pytest.approx(800, rel=0.06)
    assert part.typical.b.verdicts["fail"] == 1
    assert part.common.load == pytest.approx(160, rel=0.06)
    assert part.parted.after is None  # B uses five times as much of itself from the smallest load on
    assert "emulated by TCG" in part.headline[0]
    loads = [point.load for point in part.curve]
    assert loads == sorted(loads)
    assert all(side.metrics for point in part.curve for side in point.sides)


def test_all_three_workloads_have_an_index_on_each_platform_and_its_ratio() -> None:
    asked = CompareSection(platform=("process", "vm"))
    workloads = [load_workload(name) for name in ("banking", "shopping", "support")]
    answers = [_answer(question) for question in ask(asked, workloads, PROFILES["quick"]).questions]
    found = compute_indices(answers)
    assert found is not None
    assert found.ratio == pytest.approx(0.5, rel=0.06)
    assert compute_indices(answers[:1]) is None


def _answer(question: Question[PlatformsAnswer]) -> PlatformsAnswer:
    return carry_out(question, platform(1000, 500, 2.0))[0]


def test_platforms_that_are_alike_do_not_part() -> None:
    part = compared(1000, 990)
    assert part.parted.at is None
    assert "do not diverge" in " ".join(part.headline)
    assert not part.is_worse


def test_every_row_of_a_comparison_has_a_figure_or_a_reason() -> None:
    part = compared(1000, 200)
    for table in build_tables(part.names, part.load, part.at_peak, part.typical, part.common):
        for row in table.rows:
            assert row.a is not None or row.why_not[0] or table.title != "Monitors at the peak"


def test_the_report_says_in_large_letters_what_was_emulated(tmp_path: Path) -> None:
    asked = CompareSection(platform=("process", "vm"))
    workload = load_workload("support")
    asked_of = ask(asked, [workload], PROFILES["quick"])
    (question,) = asked_of.questions
    _, runs = carry_out(question, platform(1000, 200, 10.0))
    part = WorkloadLoad(workload, Population(1))
    base = WorkloadRuns(RunSpec("support", (part,), PROFILES["quick"], 1, 1, Reference(1), tmp_path))
    spec = StudySpec("platforms", list_study_kinds()["compare"], asked_of, base, {"kind": "compare"})
    folder = StudyFolder.create(tmp_path, build_manifest(spec, "identity"))
    folder.write_answer(spec.kind.adapter, answer_of(spec, runs))
    folder.mark(Status.COMPLETE)
    page = render_study(folder.path, Format.HTML)
    assert "<b>Emulated by TCG, not KVM: 10.0 times the CPU time an operation</b>" in page
    assert "Monitors at the peak" in page
    assert "no machine of its own" in page
    assert page.count("<svg") == 5
    assert "holds 20 % of the peak" in render_study(folder.path, Format.MARKDOWN)


def test_two_platforms_are_needed() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        CompareSection(platform=("vm",))


def test_a_machine_is_read_from_its_settings() -> None:
    machine = read_machine("platform=vm,cpus=2,memory=1024,cache=none,pin=0-1")
    assert (machine.cpus, machine.memory) == (2, 1024)
    assert get_own_settings(machine, VmSettings).cache is Cache.NONE
    assert describe_machine(machine) == "virtual machine of 2 CPUs and 1024 MiB, pin 0-1"
    with pytest.raises(UsageError, match=r"A machine has no `cpu`. Did you mean `cpus`"):
        read_machine("cpu=2")
    with pytest.raises(UsageError, match=r"`memory=8` is not valid for a machine. Expected: MiB of memory, 64 or more"):
        read_machine("memory=8")


def test_a_root_disk_has_the_size_of_its_image_or_a_larger_one(tmp_path: Path) -> None:
    minimal = Image("minimal", "0", Path("/k"), "6.1", Path("/i"))
    assert [compute_disk_mib(minimal, mib) for mib in (0, 64)] == [0, 64]
    root = tmp_path / "root.qcow2"
    root.write_bytes(b"QFI\xfb".ljust(24, b"\0") + (900 << 20).to_bytes(8, "big") + bytes(72))
    debian = replace(minimal, name="debian", root=root)
    assert [compute_disk_mib(debian, mib) for mib in (0, 900, 2048)] == [900, 900, 2048]
    with pytest.raises(PlatformError, match=r"`disk=64` is too small for the image `debian`.*Use `disk=900` or more"):
        compute_disk_mib(debian, 64)


def layout(**settings: object) -> Layout:
    image = Image("minimal", "0", Path("/k"), "6.1", Path("/i"), Path("/root.qcow2"))
    sockets = Sockets(Path("/q"), Path("/a"), Path("/c"))
    nic = NetworkInterface("public", "tap1", "ls1", "10.200.0.2", "52:54:0a:c8:00:02", "10.200.0.1")
    machine = read_machine({"platform": "vm", **settings})
    return Layout("web", machine, Accelerator.TCG, image, sockets, (nic,), Path("/overlay.qcow2"))


def test_declared_options_reach_the_hypervisor() -> None:
    words = build_command(
        layout(cpus=4, memory=2048, pages=Pages.HUGE, io_threads=1, cache=Cache.DIRECTSYNC, nic="vmxnet3")
    )
    said = " ".join(words)
    assert "-smp 4 -m 2048M" in said
    assert "memory-backend-memfd,id=memory,size=2048M,hugetlb=on" in said
    assert "vmxnet3,netdev=line0,mac=52:54:0a:c8:00:02" in said
    assert "iothread,id=io0" in said
    assert "write-cache=off,iothread=io0" in said
    node = json.loads(words[words.index("-blockdev") + 1])
    assert node["cache"] == {"direct": True, "no-flush": False}
    assert "-S" in words


def test_cores_are_read_and_must_be_there() -> None:
    assert read_core_list("0") == {0}
    with pytest.raises(PlatformError, match="There is no core 4095 here"):
        read_core_list("0+4095")
    with pytest.raises(PlatformError, match="is not a valid list of cores"):
        read_core_list("a-b")


def test_what_a_killed_process_left_is_undone_and_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    folder = tmp_path / "ls000000"
    folder.mkdir()
    (folder / journal.LOCK).touch()
    (folder / "web.qcow2").touch()
    gone = {"kind": "process", "pid": 2**22 - 1, "start": "boot 1", "what": "nobody"}
    (folder / journal.JOURNAL).write_text(json.dumps(gone) + '\n{"kind": "proc')  # the last line was cut
    assert journal.reap() == ["nobody (already ended)", "disk web.qcow2"]
    assert not folder.exists()
    assert journal.reap() == []


def left_process(folder: Path, pid: int, start: str) -> None:
    """The journal of a killed lab that had started a process."""
    folder.mkdir()
    (folder / journal.LOCK).touch()
    entry = {"kind": "process", "pid": pid, "start": start, "what": "server"}
    (folder / journal.JOURNAL).write_text(json.dumps(entry) + "\n")


def test_a_process_is_known_by_its_start_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: 100.0)  # the clock was set since
    tmp_path.chmod(0o700)
    with subprocess.Popen(["sleep", "600"]) as process:
        start = start_of(process.pid)
        boot, ticks = start.split(" ")
        for number, other in enumerate((f"{boot} {int(ticks) + 1}", f"other {ticks}")):
            left_process(tmp_path / f"ls00000{number}", process.pid, other)
            assert journal.reap() == ["server (already ended)"]
            assert process.poll() is None
        left_process(tmp_path / "ls000009", process.pid, start)
        assert journal.reap() == [f"server (process {process.pid})"]
        assert not is_still(process.pid, start)


def test_a_folder_that_others_may_write_to_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "ls000000"
    folder.mkdir()
    (folder / journal.LOCK).touch()
    harm = {"kind": "foreign", "what": "harm", "undo": f"touch\0{tmp_path / 'harm'}"}
    (folder / journal.JOURNAL).write_text(json.dumps(harm) + "\n")
    tmp_path.chmod(0o777)
    assert journal.reap() == []
    assert not (tmp_path / "harm").exists()
    with pytest.raises(PlatformError, match="only this user may write to"):
        journal.make_private_folder()


@pytest.mark.parametrize(("user", "confined"), [(0, "-runas nobody"), (1000, "elevateprivileges=deny")])
def test_a_hypervisor_is_confined_whoever_starts_it(user: int, confined: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    said = " ".join(build_command(layout()))
    assert confined in said
    assert "-sandbox on,obsolete=deny,spawn=deny,resourcecontrol=deny" in said


def test_a_folder_whose_maker_was_killed_before_it_was_locked_is_removed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    old, new = tmp_path / ".ls000001", tmp_path / ".ls000002"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    assert journal.reap() == []
    assert not old.exists()
    assert new.exists(), "its maker may be about to lock it"


def test_a_journal_is_kept_by_processes_that_inherit_its_lock_and_by_its_next_keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    folder, lock = runtime.make_locked_folder()
    (folder / journal.JOURNAL).touch()
    with subprocess.Popen(["sleep", "600"], pass_fds=(lock,)) as heir:
        os.close(lock)
        assert journal.reap() == []
        assert journal.is_locked(folder)
        with journal.adopt_journal(folder) as adopted:
            adopted.note("group", path=str(tmp_path / "none"))
            heir.kill()
            heir.wait()
            assert journal.is_locked(folder)
            journal.reap()
            assert folder.is_dir()
        assert not journal.is_locked(folder)
        journal.reap()
        assert not folder.exists()
        with pytest.raises(FileNotFoundError), journal.adopt_journal(folder):
            pass
