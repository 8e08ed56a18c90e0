"""The product's commands, with machines by KVM."""

import json
from pathlib import Path

from loadstone.cli.exits import Exit
from tests.kvm.checks.check import Check, Machines, run_command

FOLDER = Path("/srv/results")


def _read_exits(result: Path) -> list[float | None]:
    """Returns the exits a second of every machine in every sample of a result."""
    lines = [line for file in result.glob("runs/*/monitor.jsonl") for line in file.read_text().splitlines()]
    views = [view for line in lines for view in json.loads(line)["machines"].values()]
    return [view["outside"]["exits_per_s"] for view in views if view["outside"]]


async def _run_support(machines: Machines) -> str:
    await machines.close()
    argv = ["run", "support", "--sessions", "4", "--profile", "demo", "--platform", "vm", "--steady", "30"]
    argv += ["--machine", "accelerator=kvm", "--name", "support", "--results", str(FOLDER / "runs"), "--no-report"]
    code, _ = await run_command(*argv)
    # An emulated host is too slow for its driver, so the verdict may be `invalid`.
    assert code in (Exit.PASS, Exit.FAIL, Exit.INVALID), f"code {code}"
    (result,) = (FOLDER / "runs").glob("*-support")
    facts = json.loads((result / "manifest.json").read_text())["machines"]
    # The back end is a process of the host, without an accelerator.
    accelerators = {machine["accelerator"] for machine in facts.values() if machine["platform"] == "vm"}
    assert accelerators == {"kvm"}, facts
    exits = _read_exits(result)
    counted = [value for value in exits if value]
    assert counted, exits[:5]
    await run_command("report", str(result), "--format", "md", "--output", str(FOLDER / "support.md"))
    row = next(line for line in (FOLDER / "support.md").read_text().splitlines() if line.startswith("| exits"))
    return f"code {code}, exits in {len(counted)} of {len(exits)} samples; report: {row}"


async def _pair_refusal(machines: Machines) -> str:
    argv = ["run", "support", "--sessions", "4", "--profile", "demo", "--platform", "pair"]
    code, text = await run_command(*argv, "--machine", "accelerator=kvm")
    assert code != 0
    assert "accelerator" in text, text
    return f"code {code}: {' '.join(text.split())[:200]}"


async def _restored(machines: Machines) -> str:
    first, second = await machines.start("cpus=1", "cpus=1,restart=false")
    reason = {name: first.facts.get(name) for name in ("started", "saved_s", "not_saved")}
    assert str(second.facts["started"]).startswith("restored"), (reason, second.facts["started"])
    return f"first {first.facts['started']} in {first.facts['boot_s']} s; second {second.facts['started']}"


CHECKS = (
    Check("restored", "the second machine of a kind starts from the state of the first", _restored),
    Check("run-support", "run support --platform vm counts exits in its report", _run_support),
    Check("pair-refusal", "a pair by KVM is refused, with the reason", _pair_refusal),
)
