"""NUMA nodes of this machine."""

from pathlib import Path

NODES_FOLDER = Path("/sys/devices/system/node")


def find_nodes(cores: set[int], nodes: Path = NODES_FOLDER) -> tuple[int, ...]:
    """Returns the nodes of these cores in order; none where the kernel lists no nodes."""
    numbers = (int(path.name.removeprefix("node")) for path in nodes.glob("node[0-9]*"))
    return tuple(sorted(node for node in numbers if cores & _cores_of(nodes / f"node{node}" / "cpulist")))


def _cores_of(file: Path) -> set[int]:
    """Reads a list of cores as the kernel writes it, such as `0-1,4`."""
    ranges = (part.partition("-") for part in file.read_text().strip().split(",") if part)
    return {core for first, _, last in ranges for core in range(int(first), int(last or first) + 1)}
