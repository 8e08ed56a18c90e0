"""The dealership in Java on Tomcat."""

from loadstone.model.machine import SERVER
from loadstone.model.service import ServiceRole
from loadstone.services import java, tomcat
from loadstone.services.kind import Program, ServiceKind, Site, local

DEALERSHIP_PATTERNS = (
    *("/dealer/browse", "/dealer/purchase", "/dealer/manage", "/works/planned", "/works/large"),
    *("/supplier/orders", "/works/deliveries", "/audit"),
)


def program(site: Site) -> Program:
    """Returns one servlet for dealers, production lines and suppliers; an empty database is filled first."""
    address = f"{local(site.listen)}:{site.port}"
    application = java.Application("dealership", "Dealership", DEALERSHIP_PATTERNS, {"loadstone.self": address})
    filling = [SERVER, "dealership", "--only-fill", "--database", site.peers[ServiceRole.DATABASE]]
    return java.program(site, application, [[*filling, "--injection-rate", str(site.injection_rate)]])


KIND = ServiceKind(
    "tomcat",
    ServiceRole.DEALERSHIP,
    program,
    8080,
    has_tls=True,
    needs=java.FORM.needs,
    memory_mib=tomcat.MEMORY_MIB,
    is_tuned=True,
    settings={tomcat.NAME: tomcat.SETTINGS},
)
