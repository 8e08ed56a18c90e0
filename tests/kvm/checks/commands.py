"""The product's commands, with machines by KVM."""

import json
from pathlib import Path

from tests.kvm.checks.check import Check, run_command

FOLDER = Path("/srv/results")


async def _run_support() -> str:
    argv = [
        "run",
        "support",
        "--sessions",
        "4",
        "--profile",
        "demo",
        "--platform",
        "vm",
        "--machine",
        "accelerator=kvm",
    ]
    code, _ = await run_command(*argv, "--name", "support", "--output", str(FOLDER / "runs"), timeout_s=900)
    assert code in (0, 1, 2), f"code {code}"
    result = FOLDER / "runs" / "support"
    machines = json.loads((result / "manifest.json").read_text())["machines"]
    assert {machine["accelerator"] for machine in machines.values()} == {"kvm"}, machines
    samples = [
        json.loads(line) for file in result.glob("runs/*/samples.jsonl") for line in file.read_text().splitlines()
    ]
    exits = [
        outside["exits_per_s"]
        for sample in samples
        for views in sample["machines"].values()
        if (outside := views["outside"])
    ]
    known = [value for value in exits if value]
    assert known, exits[:5]
    _, text = await run_command("report", str(result), "--format", "markdown")
    row = next(line for line in text.splitlines() if line.startswith("| exits"))
    return f"code {code}, exits in {len(known)} of {len(exits)} samples; report: {row}"


async def _pair_refusal() -> str:
    argv = ["run", "support", "--sessions", "4", "--profile", "demo", "--platform", "pair"]
    code, text = await run_command(*argv, "--machine", "accelerator=kvm")
    assert code != 0
    assert "accelerator" in text, text
    return f"code {code}: {' '.join(text.split())[:200]}"


CHECKS = (
    Check("run-support", "run support --platform vm counts exits in its report", _run_support),
    Check("pair-refusal", "a pair by KVM is refused, with the reason", _pair_refusal),
)
