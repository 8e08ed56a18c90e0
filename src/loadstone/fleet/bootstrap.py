"""A cluster of one's own from nothing but Python and ssh on the hosts: looked at, installed, started, ended.

The head is on the coordinator's machine. Every process of the cluster is told a token and speaks TLS with certificates
of an authority made for this cluster; who has neither is not answered.
"""

import json
import secrets
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from loadstone.fleet.cluster import (
    CLUSTER_AUTHORITY,
    CLUSTER_CERTIFICATE,
    CLUSTER_KEY,
    HEAD_PORT,
    TOKEN,
    Keys,
    build_health_check,
    find_head_host,
    find_keys_folder,
    format_head_address,
    name_resource,
)
from loadstone.fleet.contract import FleetError
from loadstone.fleet.remote_shell import Shell
from loadstone.host.files import write_private
from loadstone.host.secrets import CLUSTER_TOKEN
from loadstone.model.fleet import FleetSpec, HostSpec
from loadstone.services import reference

LEAST_PYTHON = (3, 11)
HOST_LEAST_MIB = 512
"""Memory that the engine's processes take of a host, with room to spare (measured: 110 MiB a node, 350 the head)."""
INSTALL_S = 900.0
RAY_START_TIMEOUT_S = 90.0
STORE_BYTES = 80_000_000
"""Of the engine's object store, which nothing uses here: the least that it takes, nearly."""
HOST_FACTS_SCRIPT = r"""
set -e
python=${1:-python3}
command -v "$python" > /dev/null || { echo "there is no $python" >&2; exit 1; }
echo "python=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
of='from importlib.metadata import version; import ray; print(version("loadstone"))'
echo "found=$("$python" -c "$of" 2> /dev/null || true)"
echo "free_mib=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)"
echo "cores=$(nproc)"
echo "unix_s=$(date +%s.%N)"
echo "folder=$HOME/.local/share/loadstone"
"""


STARTED = r"""
    # Number, boot and start in ticks since it: a number alone may be that of a stranger by now.
    started() {
        ticks=$(sed "s/.*) //" "/proc/$1/stat" 2> /dev/null | cut -d " " -f 20)
        [ -n "$ticks" ] && echo "$1 $(cat /proc/sys/kernel/random/boot_id) $ticks"
    }
    is_node() { [ -s node.pid ] && [ "$(cat node.pid)" = "$(started "$(cut -d " " -f 1 node.pid)")" ]; }
    # What is left of the node's group, in its folder or with its keys: programs may write over what they were told.
    # A number is not given anew while a group has it: one whose process lives, but is not our node, is of strangers.
    left_of_node() {
        read -r node boot ticks < node.pid
        [ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] || return 0
        [ -d "/proc/$node" ] && ! is_node && return 0
        for process in /proc/[0-9]*; do
            group=$(sed "s/.*) //" "$process/stat" 2> /dev/null | cut -d " " -f 3)
            [ "$group" = "$node" ] || continue
            [ "$(readlink "$process/cwd")" = "$PWD" ] ||
                tr "\0" "\n" < "$process/environ" 2> /dev/null | grep -Fqx "RAY_TLS_SERVER_KEY=$PWD/{key}" || continue
            echo "${process#/proc/}"
        done
    }
""".replace("{key}", CLUSTER_KEY)
"""Functions of a shell that tell a node of this cluster from other processes."""
NOTED = f'{STARTED}\nstarted $$ > node.pid; exec "$@"'
"""Notes who runs what comes next, and runs it."""


@dataclass(frozen=True)
class HostProbe:
    """What a host is like before anything is started there."""

    python: tuple[int, int]
    installed: str
    """Version of Loadstone that its interpreter has with the engine; empty without."""
    free_mib: int
    cores: int
    ahead_s: float
    """Its clock less ours."""
    bound_s: float
    """By how much that may be wrong."""
    folder: str
    """Where Loadstone is installed, if it is not there."""


def open_shell(name: str, host: HostSpec) -> Shell:
    """A shell there."""
    return Shell(name, host.ssh)


async def look_at(name: str, host: HostSpec) -> HostProbe:
    """Looks at a host. Raises FleetError for one that cannot be of a fleet, with the remedy."""
    before = time.time()
    output = await open_shell(name, host).run(f"set -- {shlex.quote(host.python)}\n{HOST_FACTS_SCRIPT}")
    facts = _look_in(name, output, (before + time.time()) / 2, (time.time() - before) / 2)
    if facts.python < LEAST_PYTHON:
        python_version = ".".join(map(str, facts.python))
        raise FleetError(
            f"{name} has Python {python_version}, but 3.11 is required. Set another interpreter with `python`."
        )
    if facts.free_mib < HOST_LEAST_MIB:
        raise FleetError(
            f"{name} has {facts.free_mib} MiB free, but the engine needs {HOST_LEAST_MIB} MiB. Free memory there."
        )
    return facts


def _look_in(name: str, output: str, middle_s: float, bound_s: float) -> HostProbe:
    """A look from its lines, of which the clock's was read in the middle, more or less. Raises FleetError."""
    values = dict(line.partition("=")[::2] for line in output.splitlines() if "=" in line)
    try:
        major, minor = (int(part) for part in values["python"].split("."))
        sizes = int(values["free_mib"]), int(values["cores"])
        return HostProbe(
            (major, minor),
            values["found"],
            *sizes,
            float(values["unix_s"]) - middle_s,
            bound_s,
            folder=values["folder"],
        )
    except (KeyError, ValueError):
        remedy = "Check whether its shell prints something at start"
        raise FleetError(f"The description of {name} cannot be read: {output[:200]!r}. {remedy}.") from None


async def install(name: str, host: HostSpec, facts: HostProbe, wheel: Path | None) -> str:
    """Installs this version there where it is missing; the interpreter that has it. Raises FleetError."""
    this_version = version("loadstone")
    if host.python or not host.ssh:
        python = host.python or sys.executable
        if host.python and facts.installed != this_version:
            raise FleetError(
                f"{python} on {name} needs Loadstone {this_version} with the engine, "
                f"but has {facts.installed or 'none'}."
            )
        return python
    if wheel is None:
        raise FleetError(f"{name} lacks Loadstone {this_version}. Add --wheel FILE (`make wheel` builds it).")
    folder = f"{facts.folder}/{this_version}"
    file = f"{folder}/{wheel.name}"
    script = f"""
    set -e
    mkdir -p {shlex.quote(folder)}
    cat > {shlex.quote(file)}.new
    if ! cmp -s {shlex.quote(file)}.new {shlex.quote(file)} || [ ! -x {shlex.quote(folder)}/venv/bin/ray ]; then
        python3 -m venv {shlex.quote(folder)}/venv
        mv {shlex.quote(file)}.new {shlex.quote(file)}
        {shlex.quote(folder)}/venv/bin/pip install --quiet --force-reinstall --no-deps {shlex.quote(file)}
        {shlex.quote(folder)}/venv/bin/pip install --quiet {shlex.quote(file + "[fleet]")}
    fi
    rm -f {shlex.quote(file)}.new
    """
    await open_shell(name, host).run(script, wheel.read_bytes(), INSTALL_S)
    return f"{folder}/venv/bin/python"


def make_keys(spec: FleetSpec) -> Keys:
    """New keys for a fleet's cluster, in a folder of this user's alone; those of a cluster that runs stay."""
    address = format_head_address(spec)
    folder = find_keys_folder(address)
    if not (folder / TOKEN).is_file():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = sorted({find_head_host(spec), "127.0.0.1", *(host.address for host in spec.hosts.values())})
        files = reference.create_certificate(names)
        for file, text in {**files, TOKEN: secrets.token_hex(32)}.items():
            write_private(folder / file, text)
    return Keys(folder)


async def start_head(spec: FleetSpec, keys: Keys) -> None:
    """Starts the head here, with the hosts that are this machine. Raises FleetError."""
    address = find_head_host(spec)
    here = [name for name, host in spec.hosts.items() if host.address == address]
    arguments = ["--head", f"--port={HEAD_PORT}", f"--node-ip-address={address}", "--include-dashboard=false"]
    arguments.append("--no-monitor")  # it would answer anyone, at all addresses and without TLS; hosts are fixed here
    shell = Shell("the head", "")
    await _start(shell, sys.executable, arguments, here, keys, Keys(keys.folder), build_health_check(spec.silence_s))


async def start_host(name: str, host: HostSpec, spec: FleetSpec, python: str, keys: Keys) -> None:
    """Starts a host's node, which joins the head. Raises FleetError."""
    arguments = [f"--address={format_head_address(spec)}", f"--node-ip-address={host.address}"]
    shell = open_shell(name, host)
    state = (await shell.run('echo "${XDG_STATE_HOME:-$HOME/.local/state}"')).strip()
    there = Keys(Path(state) / "loadstone" / "fleet" / keys.folder.name)
    await _hand_over(shell, keys, there)
    await _start(shell, python, arguments, [name], keys, there)


async def _hand_over(shell: Shell, keys: Keys, there: Keys) -> None:
    """Copies the keys; they pass through ssh, never through a command's words."""
    files = {
        file: (keys.folder / file).read_text() for file in (TOKEN, CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY)
    }
    reading = "\n".join(
        [
            "import json, os, pathlib, sys",
            "for name, text in json.load(sys.stdin).items():",
            "    pathlib.Path(name).touch()",
            "    os.chmod(name, 0o600)",  # also of a file that was there with another mode
            "    pathlib.Path(name).write_text(text)",
        ]
    )
    folder = shlex.quote(str(there.folder))
    script = f"umask 077 && mkdir -p {folder} && cd {folder} && python3 -c {shlex.quote(reading)}"
    await shell.run(script, json.dumps(files).encode())


async def _start(
    shell: Shell,
    python: str,
    arguments: list[str],
    hosts: list[str],
    keys: Keys,
    there: Keys,
    also: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Starts a node that stays until `end` ends it, with further variables, and waits for it to be up."""
    options = [
        "--num-cpus=0",
        "--disable-usage-stats",
        "--include-log-monitor=false",
        f"--object-store-memory={STORE_BYTES}",
        f"--resources={json.dumps({name_resource(name): 1 for name in hosts})}",
        "--block",
    ]
    ray = str(Path(python).parent / "ray")
    variables = {**build_environment_there(keys, there), **also}
    named = {key: value for key, value in variables.items() if key != CLUSTER_TOKEN}
    settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in named.items())
    folder = shlex.quote(str(there.folder))
    script = f"""
    {STARTED}
    cd {folder}
    if is_node; then exit 0; fi
    export {CLUSTER_TOKEN}="$(cat {TOKEN})" {settings}
    rm -f node.pid
    # in a session of its own, but not as a shell's job in the background, whose children would not hear interruptions
    setsid --fork sh -c {shlex.quote(NOTED)} node {shlex.join([ray, "start", *arguments, *options])} \
        > node.log 2>&1 < /dev/null
    for _ in $(seq 50); do [ -s node.pid ] && break; sleep 0.1; done
    for _ in $(seq {int(RAY_START_TIMEOUT_S * 2)}); do
        if grep -q "Ray runtime started" node.log; then exit 0; fi
        is_node || break
        sleep 0.5
    done
    tail -n 5 node.log >&2
    exit 1
    """
    await shell.run(script, timeout_s=RAY_START_TIMEOUT_S + 30)


def build_environment_there(keys: Keys, there: Keys) -> Mapping[str, str]:
    """The cluster's environment with the paths of another host."""
    variables = keys.build_environment()
    return {name: value.replace(str(keys.folder), str(there.folder)) for name, value in variables.items()}


async def end(shell: Shell, folder_name: str) -> bool:
    """Ends a host's node and all that it started, and forgets its keys; whether there was one. Raises FleetError."""
    script = f"""
    {STARTED}
    cd "${{XDG_STATE_HOME:-$HOME/.local/state}}/loadstone/fleet/{folder_name}" 2> /dev/null || exit 0
    if [ -s node.pid ]; then
        node=$(cut -d " " -f 1 node.pid)
        if is_node && kill "$node" 2> /dev/null; then
            for _ in $(seq 16); do is_node || break; sleep 0.5; done
            echo ended
        fi
        # What its processes left, where one of them was killed.
        for process in $(left_of_node); do kill -s KILL "$process" 2> /dev/null || true; done
    fi
    rm -f node.pid node.log {TOKEN} {CLUSTER_AUTHORITY} {CLUSTER_CERTIFICATE} {CLUSTER_KEY}
    cd .. && rmdir {folder_name} 2> /dev/null || true
    """
    return "ended" in await shell.run(script)
