"""What each side of a comparison was given, so far as the lab knows it, and what is unlike. Pure."""

from collections.abc import Iterable, Mapping

from loadstone.judge.usage import SUPPORT
from loadstone.model.records.manifest import HostFacts, Manifest, Settings

MIB_BYTES = 1 << 20
Conditions = Mapping[str, str]
"""By name, as cores and memory; of machines that differ, all values."""


def list_conditions(manifest: Manifest) -> dict[str, str]:
    """Returns the resources of the machines of the system under test, nothing for a system that the lab
    did not start.
    """
    machines = [machine.facts for role, machine in manifest.machines.items() if role not in SUPPORT]
    each = [_of_machine(facts, manifest.host) for facts in machines]
    joined = {name: " and ".join(dict.fromkeys(facts[name] for facts in each)) for name in (each[0] if each else ())}
    return {"machines": str(len(each)), **joined} if len(each) > 1 else joined


def _of_machine(facts: Settings, host: HostFacts) -> dict[str, str]:
    """What a machine does not have of its own is the host's."""
    own_mib = facts.get("memory_mib")
    memory_mib = own_mib if isinstance(own_mib, int | float) else (host.memory_bytes or 0) / MIB_BYTES
    return {
        "cores": _cores(facts, host),
        "memory": f"{memory_mib:,.0f} MiB",
        "kernel": str(facts.get("kernel") or host.kernel),
        "distribution": str(facts.get("image") or host.distribution),
        "network": str(facts.get("network") or "loopback"),
    }


def _cores(facts: Settings, host: HostFacts) -> str:
    """How many; a list as `0-1,3` counts what it names."""
    if facts.get("cpus"):
        return str(facts["cpus"])
    named = str(facts.get("cores") or "all")
    if named == "all":
        return str(host.cores_usable or host.cores)
    ends = [part.partition("-") for part in named.split(",")]
    return str(sum(int(last or first) - int(first) + 1 for first, _, last in ends))


def describe_unlike(a: Iterable[Conditions], b: Iterable[Conditions], names: tuple[str, str] = ("A", "B")) -> list[str]:
    """The sentence that names what differs, where anything does; each side by the conditions of its runs."""
    sides = [_joined(a), _joined(b)]
    if not all(sides):
        return []
    differing = [name for name in sides[0] | sides[1] if sides[0].get(name) != sides[1].get(name)]
    parts = [f"{name} ({sides[0].get(name, 'one')} and {sides[1].get(name, 'one')})" for name in differing]
    return [f"{names[0]} and {names[1]} are not given the same: {', '.join(parts)}."] if parts else []


def _joined(runs: Iterable[Conditions]) -> dict[str, str]:
    """One side's conditions; where its runs differ, all of them."""
    each = [run for run in runs if run]
    return {name: " or ".join(dict.fromkeys(run[name] for run in each if name in run)) for run in each for name in run}
