"""nfs-ganesha as an ordinary process: one folder over NFSv4.1, for machines with a kernel of their own."""

import shlex

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.listening import render_wait
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import build_shell_command

NFS_PROGRAM = "/usr/bin/ganesha.nfsd"
SHARED_FOLDER = "shared"
"""The folder below the machine's files, and its name for who mounts it."""
NFS_CONFIGURATION, NFS_LOG = "ganesha.conf", "ganesha.log"
MTAB = "[ -e /etc/mtab ] || ln -s ../proc/self/mounts /etc/mtab"
"""It finds file systems there; a small image has no such link."""
NFS_NAME = "nfs"
"""Of its settings."""
NFS_TRANSFER_BYTES = 64 << 20
"""Largest transfer that it allows."""


class NfsSettings(Section):
    """Settings of the NFS server nfs-ganesha."""

    threads: int = Field(default=200, ge=1, le=131_072, description="threads for requests, at most")
    cached_entries: int = Field(
        default=100_000, ge=1, le=2**32 - 1, description="files and folders whose attributes are cached"
    )
    max_read_bytes: int = Field(
        default=NFS_TRANSFER_BYTES, ge=4096, le=NFS_TRANSFER_BYTES, description="largest read of a request, bytes"
    )
    max_write_bytes: int = Field(
        default=NFS_TRANSFER_BYTES, ge=4096, le=NFS_TRANSFER_BYTES, description="largest write of a request, bytes"
    )


NFS_SETTINGS = {tuning: NfsSettings() for tuning in Tuning}
"""As distributed: ganesha-core-config(8), ganesha-cache-config(8), ganesha-export-config(8)."""


def render_configuration(site: Site) -> str:
    """All that it remembers is below its folder; who mounts need not wait for the clients of an earlier life."""
    settings = resolve_settings(site, NFS_NAME, NFS_SETTINGS)
    return f"""NFS_CORE_PARAM {{
    Protocols = 4;
    NFS_Port = {site.port};
    Bind_addr = {site.listen};
    Enable_NLM = false;
    Enable_RQUOTA = false;
    RPC_Ioq_ThrdMax = {settings.threads};
}}
MDCACHE {{
    Entries_HWMark = {settings.cached_entries};
}}
NFSV4 {{
    Graceless = true;
    Minor_Versions = 1;
    RecoveryBackend = fs;
    RecoveryRoot = "{site.folder}/recovery";
}}
EXPORT {{
    Export_Id = 1;
    Path = "{site.folder}/{SHARED_FOLDER}";
    Pseudo = "/{SHARED_FOLDER}";
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    Protocols = 4;
    Transports = TCP;
    MaxRead = {settings.max_read_bytes};
    MaxWrite = {settings.max_write_bytes};
    FSAL {{ Name = VFS; }}
}}
"""


def build_program(site: Site) -> Program:
    """Returns the NFS server in the foreground. It is ready when its log says so."""
    log = shlex.quote(f"{site.folder}/{NFS_LOG}")
    server = [NFS_PROGRAM, "-F", "-f", f"{site.folder}/{NFS_CONFIGURATION}", "-L", f"{site.folder}/{NFS_LOG}"]
    server += ["-p", f"{site.folder}/ganesha.pid"]
    looking = f"grep -q 'NFS SERVER INITIALIZED' {log} 2> /dev/null"
    return Program(
        build_shell_command(f"ulimit -n 8192; exec {shlex.join(server)}"),
        {NFS_CONFIGURATION: render_configuration(site)},
        prepare=[
            ["mkdir", "-p", f"{site.folder}/{SHARED_FOLDER}", f"{site.folder}/recovery"],
            build_shell_command(MTAB),
        ],
        wait=build_shell_command(render_wait(looking, f"cat {log} >&2")),
        version=[NFS_PROGRAM, "-v"],
    )


KIND = ServiceKind(
    "nfs",
    ServiceRole.STORE,
    build_program,
    2049,
    shares_folder=True,
    settings={NFS_NAME: NFS_SETTINGS},
    needs={NFS_PROGRAM: "nfs-ganesha", "/usr/lib/*/ganesha/libfsalvfs.so": "nfs-ganesha-vfs"},
)
