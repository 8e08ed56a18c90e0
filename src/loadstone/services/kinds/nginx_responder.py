"""The back-end simulator as published setups ran it: fifty processes behind a web server, asked over FastCGI."""

from loadstone.model.machine import SERVER
from loadstone.model.service import ServiceRole
from loadstone.services import nginx
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.listening import render_wait
from loadstone.services.unprivileged import build_shell_command

RESPONDER_SOCKET = "responder.sock"
PROCESSES = 50
"""As in the published configurations (docs/web-workloads.md, Back end)."""
NGINX_RESPONDER_VARIABLES = ("QUERY_STRING", "REQUEST_METHOD", "SCRIPT_NAME")


def build_program(site: Site) -> Program:
    """Both as the user that starts them."""
    socket = f"{site.folder}/{RESPONDER_SOCKET}"
    responder = [SERVER, "responder", "--until-stdin-ends", "--socket", socket, "--processes", str(PROCESSES)]
    waiting = render_wait(f"[ -S {socket} ]")
    return Program(
        build_shell_command(f"{waiting}; {nginx.render_start(site)}"),
        {nginx.NGINX_CONFIGURATION: render_configuration(site)},
        helpers={"responder": responder},
        version=build_shell_command(nginx.NGINX_VERSION),
    )


def render_configuration(site: Site) -> str:
    """A connection for each request."""
    parameters = "".join(f"            fastcgi_param {name} ${name.lower()};\n" for name in NGINX_RESPONDER_VARIABLES)
    return nginx.render_http(
        site,
        f"    server {{\n        listen {site.listen}:{site.port} backlog=4096;\n        location / {{\n"
        f"            fastcgi_pass unix:{site.folder}/{RESPONDER_SOCKET};\n{parameters.replace('$script_name', '$uri')}"
        "        }\n    }\n",
    )


KIND = ServiceKind(
    "nginx-responder",
    ServiceRole.BACKEND,
    build_program,
    8080,
    needs=nginx.NGINX_NEEDS,
    settings={nginx.NGINX_NAME: nginx.NGINX_SETTINGS},
)
