"""A tile on six virtual machines: each role in its own, on the networks that it shares with the right ones."""

import json
from pathlib import Path

import pytest

from loadstone.model.records.result import WorkloadResult
from loadstone.model.records.status import Status
from loadstone.store.read import read_manifest, read_result
from tests.integration.conftest import LoadstoneRunner, loadstone, newest, page, run_until
from tests.verdicts import broken_rules

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.combination,
    pytest.mark.slow("boots six machines, and makes the image of two the first time"),
]
__all__ = ["loadstone"]
TINY = str(Path(__file__).parents[1] / "data" / "tiny-tile.toml")


def written_by(role: str, result: Path) -> float:
    """Bytes per second that the machine of a role wrote to its disk, as its hypervisor counts them; summed. A busy host
    reads some seconds too late, which then have no counts.
    """
    lines = (result / "runs" / "tile1-mail-1" / "monitor.jsonl").read_text().splitlines()
    views = [json.loads(line)["machines"][f"tile1-{role}"]["outside"] for line in lines]
    return sum(view["disk"]["write_bytes_per_s"] for view in views if view is not None)


def find_web_load(result: Path) -> WorkloadResult:
    """Returns the load of the web server."""
    return next(workload for workload in read_result(result).workloads if workload.id.label == "tile1-web")


def is_seen(result: Path) -> bool:
    """Whether the web server answered some pages, and the machines of mail and database wrote to their disks."""
    if read_manifest(result).status is not Status.COMPLETE:
        return True
    requests = find_web_load(result).iterations[0].figures.requests
    return requests > 0 and all(written_by(role, result) > 0 for role in ("mail", "db"))


def test_a_fraction_of_a_tile_runs_on_six_machines_with_downloads_over_nfs(
    loadstone: LoadstoneRunner,
    tmp_path: Path,
) -> None:
    larger = Path(TINY).read_text().replace("web = { memory = 192 }", "web = { memory = 384 }")
    (tmp_path / "tile.toml").write_text(larger.replace("infra = { memory = 160 }", "infra = { memory = 512 }"))
    words = ["tiles", "--tile", "tile.toml", "--platform", "vm", "--store", "nfs", "--last-fraction", "0.5"]
    words += ["--warm-up", "1", "--steady", "5"]
    # A page of a machine that a busy host emulates may take longer than five seconds.
    done = run_until(loadstone, tmp_path, is_seen, *words)
    result = newest(tmp_path)
    manifest = read_manifest(result)
    assert manifest.status is Status.COMPLETE, done.stdout + done.stderr
    assert broken_rules(result) == []
    networks = {name.partition("-")[2]: set(machine.networks) for name, machine in manifest.machines.items()}
    web, app = {"public", "t1-web"}, {"public", "t1-app"}
    assert networks == {
        "web": web,
        "infra": web,
        "app": app,
        "db": app,
        "mail": {"public"},
        "idle": {"public"},
    }
    sizes = {name.partition("-")[2]: machine.facts["memory_mib"] for name, machine in manifest.machines.items()}
    assert (sizes["web"], sizes["infra"], sizes["mail"], sizes["idle"]) == (384, 512, 256, 160)
    disks = {name.partition("-")[2] for name, machine in manifest.machines.items() if machine.facts.get("disk")}
    assert disks == {"web", "infra", "app", "db", "mail"}, "the web server mounts a folder, which takes a distribution"
    figures = find_web_load(result).iterations[0].figures
    assert sum(operation.error_count for operation in figures.operations) == 0
    assert manifest.tile is not None
    assert manifest.tile.file_store == "folder of the infra role, over NFSv4.1"
    assert "nfs-ganesha" in str(manifest.machines["tile1-infra"].facts["image"])
    assert (result / "logs" / "tile1-infra-ganesha.conf").is_file()
    text = page(tmp_path)
    assert ("Emulated by TCG" in text) == (manifest.machines["tile1-web"].accelerator == "tcg")
    assert "t1-app" in text
