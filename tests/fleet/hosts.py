"""Hosts for tests: network namespaces on one bridge, each with processes, /tmp, /run and an ssh server of its own."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex

from loadstone.fleet.remote_shell import VARIABLE
from loadstone.model.fleet import DEFAULT_SILENCE_S
from tests.waiting import LONGEST_S

NET = "10.77.0"
SSHD, NGINX = "/usr/sbin/sshd", "/usr/sbin/nginx"
EXAMPLE = Path(__file__).parents[2] / "examples" / "nginx-site"
UP_S = 20.0
SSHD_CONFIGURATION = """
Port 22
HostKey /run/keys/host_key
AuthorizedKeysFile /run/keys/key.pub
PidFile none
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
SetEnv XDG_STATE_HOME=/tmp/state {environment}
"""


@dataclass
class NamespaceHost:
    """One host."""

    name: str
    address: str
    folder: Path
    """What it has for itself: its /tmp is `tmp` there."""
    bridge: str
    link: str
    first: subprocess.Popen[bytes]
    """What all its processes end with."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def tmp(self) -> Path:
        """Its /tmp, from outside."""
        return self.folder / "tmp"

    @property
    def pid(self) -> int:
        """Its process 1, as the machine numbers it."""
        children = Path(f"/proc/{self.first.pid}/task/{self.first.pid}/children").read_text().split()
        return int(children[0])

    def words(self, command: list[str]) -> list[str]:
        """A command as it is run there."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net"]
        return [*enter, "sh", "-c", 'cd /tmp && exec "$@"', "at", *command]

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Starts a command there."""
        words = self.words(command)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, **pipes, text=True, env={**os.environ, **self.environment})

    def run(self, command: list[str], timeout_s: float = LONGEST_S) -> subprocess.CompletedProcess[str]:
        """Runs a command there."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            self.words(command), capture_output=True, text=True, timeout=timeout_s, env=environment, check=False
        )

    def processes(self) -> dict[int, str]:
        """Command lines of all its processes, by the machine's numbers."""
        inside = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = {}
        for one in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (one / "ns/pid").readlink() == inside:
                    words = (one / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(one.name)] = words.decode(errors="replace")
        return found

    def cut(self) -> None:
        """Cuts its cable."""
        _ip("link", "set", self.link, "down")

    def mend(self) -> None:
        """Puts it back."""
        _ip("link", "set", self.link, "up")

    def power_off(self) -> None:
        """Ends all its processes at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@contextmanager
def namespace_hosts(names: list[str]) -> Iterator[dict[str, NamespaceHost]]:
    """So many hosts, which reach each other; all is gone when the block ends."""
    tag = token_hex(2)
    bridge = f"lsf{tag}"
    with ExitStack() as stack:
        # Each host has a /tmp of its own, so what all of them read is elsewhere.
        own = tempfile.TemporaryDirectory(prefix="loadstone-fleet-", dir="/var/tmp", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(own))
        key = folder / "key"
        for made in (key, folder / "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(made)], check=True)
        client = folder / "ssh_config"
        known = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
        client.write_text(f"IdentityFile {key}\n{known}")
        stack.callback(_ip, "link", "del", bridge)
        _ip("link", "add", bridge, "type", "bridge")
        _ip("link", "set", bridge, "up")
        hosts = {}
        for at, name in enumerate(names):
            hosts[name] = stack.enter_context(_host(name, f"{NET}.{at + 1}", folder, bridge, f"lsf{tag}{at}"))
        environment = {VARIABLE: f"ssh -F {client}", "XDG_STATE_HOME": "/tmp/state", "LOADSTONE_RUNTIME_DIR": ""}
        for host in hosts.values():
            host.environment = environment
            _await_ssh(host, client)
        yield hosts


@contextmanager
def _host(name: str, address: str, above: Path, bridge: str, link: str) -> Iterator[NamespaceHost]:
    folder = above / name
    for part in ("tmp", "run", "run/sshd", "run/netns"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    steps = [
        f"hostname {name}",
        f"mount --bind {folder}/run /run",
        "mount -t tmpfs tmpfs /dev/shm",
        *_kept(folder / "tmp"),
        f"mount --rbind {folder}/tmp /tmp",
        "ip link set lo up",
        f"exec {SSHD} -D -e -f /run/sshd.conf",
    ]
    (folder / "run/sshd.conf").write_text(SSHD_CONFIGURATION.format(environment=_passed_on()))
    (folder / "run/keys").mkdir()
    for file in ("host_key", "key.pub"):
        (folder / "run/keys" / file).write_bytes((above / file).read_bytes())
        (folder / "run/keys" / file).chmod(0o600)
    apart = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
    with (folder / "sshd.log").open("wb") as log:
        words = [*apart, "sh", "-c", " && ".join(steps)]
        first = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
    host = NamespaceHost(name, address, folder, bridge, link, first)
    try:
        _until(lambda: Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split())
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        _ip("link", "set", link, "master", bridge, "up")
        for words in (f"addr add {address}/24 dev eth0", "link set eth0 up"):
            subprocess.run(["nsenter", "--target", str(host.pid), "--net", "ip", *words.split()], check=True)
        yield host
    finally:
        first.kill()
        first.wait()
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", link)


def _passed_on() -> str:
    """Returns what a host's commands have of the environment of the tests: the same programs and the same code."""
    names = ("PATH", "PYTHONPATH", "LOADSTONE_BIN_DIR")
    return " ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)


def _kept(tmp: Path) -> list[str]:
    """Has a host see the project and its interpreter where they are below /tmp, which it has for itself."""
    roots = {Path(__file__).parents[2], Path(sys.prefix), Path(os.environ.get("LOADSTONE_BIN_DIR", sys.prefix))}
    below = sorted(root for root in roots if root.is_relative_to("/tmp"))
    steps = []
    for root in below:
        place = tmp / root.relative_to("/tmp")
        place.mkdir(parents=True, exist_ok=True)
        steps.append(f"mount --bind {root} {place}")
    return steps


def _await_ssh(host: NamespaceHost, client: Path) -> None:
    def answers() -> bool:
        words = [*shlex.split(f"ssh -F {client}"), f"root@{host.address}", "true"]
        return host.run(words, 10).returncode == 0

    _until(answers)


def _until(is_so: Callable[[], object]) -> None:
    until = time.monotonic() + UP_S
    while time.monotonic() < until:
        with suppress(OSError, IndexError):
            if is_so():
                return
        time.sleep(0.1)
    raise TimeoutError("the host did not come up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def fleet_file(hosts: Mapping[str, NamespaceHost], roles: Mapping[str, str], folder: Path, silence_s: float) -> Path:
    """A fleet's file with these hosts, all by ssh, on the interpreter of the tests."""
    lines = [f"silence_s = {silence_s}"]
    for name, role in roles.items():
        host = hosts[name]
        lines += [f"[hosts.{name}]", f'roles = ["{role}"]', f'addresses = {{ public = "{host.address}" }}']
        lines += [f'ssh = "root@{host.address}"', f'python = "{sys.executable}"']
    file = folder / "fleet.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


KEPT_TEXTS = (".log", ".json", ".jsonl")


@dataclass
class Lab:
    """The host where commands are given, and its fleet."""

    host: NamespaceHost
    file: str = "/tmp/fleet.toml"

    def loadstone(self, *words: str, timeout_s: float = LONGEST_S) -> subprocess.CompletedProcess[str]:
        """Runs the program there; what uses the fleet is told its file."""
        try:
            return self.host.run(self._words(words), timeout_s)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{error}\nIt said: {error.stdout!r} {error.stderr!r}\n{self._state()}") from None

    def _state(self) -> str:
        """What runs on the machine, and the ends of what was kept of the newest result."""
        running = subprocess.run(["ps", "axo", "pid,ppid,etimes,stat,wchan:20,args"], capture_output=True, text=True)
        newest = max(self.host.tmp.glob("results/*"), key=lambda folder: folder.stat().st_mtime, default=None)
        files = sorted(newest.rglob("*.*")) if newest else []
        ends = [f"{file}: {file.read_text(errors='replace')[-1500:]}" for file in files if file.suffix in KEPT_TEXTS]
        return "\n".join([running.stdout, *map(str, files), *ends])

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The same, without waiting for its end."""
        return self.host.start(self._words(words))

    def _words(self, words: tuple[str, ...]) -> list[str]:
        fleet = ["--fleet", self.file] if words[0] in ("run", "tiles") else []
        return [str(Path(sys.executable).parent / "loadstone"), *words, *fleet]

    def narrow(self, *names: str) -> "Lab":
        """Returns the same cluster, of which commands reserve these hosts alone: each takes seconds of CPU time."""
        head, *hosts = (self.host.tmp / "fleet.toml").read_text().split("[hosts.")
        file = f"{'-'.join(names)}.toml"
        (self.host.tmp / file).write_text("[hosts.".join([head, *(host for host in hosts if _name_of(host) in names)]))
        return replace(self, file=f"/tmp/{file}")

    def result(self, name: str) -> Path:
        """The result folder of that name."""
        (found,) = self.host.tmp.glob(f"results/*-{name}")
        return found

    def heal(self, hosts: Mapping[str, NamespaceHost]) -> None:
        """Puts cables back, and starts the cluster anew if a host of it is missing."""
        for host in hosts.values():
            host.mend()
        if self.loadstone("fleet", "status", self.file).returncode:
            self.up_again()

    def up_again(self) -> None:
        """Ends the cluster and starts it."""
        self.loadstone("fleet", "down", self.file)
        done = self.loadstone("fleet", "up", self.file)
        assert done.returncode == 0, done.stdout + done.stderr


def _name_of(section: str) -> str:
    """Returns the name at the beginning of a host's section, behind `[hosts.`."""
    return section.partition("]")[0]


@contextmanager
def cluster(
    hosts: Mapping[str, NamespaceHost], roles: Mapping[str, str], silence_s: float = DEFAULT_SILENCE_S
) -> Iterator[Lab]:
    """A cluster of these hosts, started over ssh from the first of them, which is none of its hosts. A host may be
    silent for `silence_s`.
    """
    host = next(iter(hosts.values()))
    fleet_file(hosts, roles, host.tmp, silence_s)
    lab = Lab(host)
    done = lab.loadstone("fleet", "up", lab.file)
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        yield lab
    finally:
        lab.loadstone("fleet", "down", lab.file)


@contextmanager
def site_on(host: NamespaceHost) -> Iterator[tuple[str, Path]]:
    """The example's site on a stock nginx of a host, its workload in every host's reach; its URL and access log."""
    folder = host.tmp / "site"
    shutil.copytree(EXAMPLE, folder)
    configuration = folder / "nginx.conf"
    timed = "log_format timed '$remote_addr $msec $request';\n    access_log access.log timed"
    text = configuration.read_text().replace("127.0.0.1:8080", "8080").replace("access_log off", timed)
    configuration.write_text("user root;\n" + text)
    words = host.words([NGINX, "-p", "/tmp/site", "-c", "nginx.conf", "-e", "error.log"])
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until((folder / "access.log").is_file)
        yield f"http://{host.address}:8080", folder / "access.log"
    finally:
        process.kill()  # the server itself ends with its host
        process.wait()
