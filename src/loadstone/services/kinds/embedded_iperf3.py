"""The server of iperf3, which serves one test at a time."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.listening import wait_until_listening

IPERF3_SERVER = "/usr/bin/iperf3"
IPERF3_PORT = 5201


def make_program(site: Site) -> Program:
    """Listens for clients until it is stopped."""
    command = [IPERF3_SERVER, "--server", "--bind", site.listen, "--port", str(site.port)]
    return Program(command, wait=wait_until_listening(site.port), version=[IPERF3_SERVER, "--version"])


KIND = ServiceKind(EMBEDDED, ServiceRole.IPERF3, make_program, IPERF3_PORT, needs={IPERF3_SERVER: "iperf3"})
