"""The dealership in Java on Tomcat."""

from loadstone.model.machine import SERVER
from loadstone.model.service import ServiceRole
from loadstone.services import java
from loadstone.services.kind import Program, Site, get_local_address

DEALERSHIP_PATTERNS = (
    *("/dealer/browse", "/dealer/purchase", "/dealer/manage", "/works/planned", "/works/large"),
    *("/supplier/orders", "/works/deliveries", "/audit"),
)


def build_program(site: Site) -> Program:
    """Returns one servlet for dealers, production lines and suppliers; an empty database is filled first."""
    address = f"{get_local_address(site.listen)}:{site.port}"
    application = java.Application("dealership", "Dealership", DEALERSHIP_PATTERNS, {"loadstone.self": address})
    filling = [SERVER, "dealership", "--only-fill", "--database", site.peers[ServiceRole.DATABASE]]
    return java.build_program(site, application, [[*filling, "--injection-rate", str(site.injection_rate)]])


KIND = java.create_kind(ServiceRole.DEALERSHIP, build_program)
