"""PostgreSQL as the server that a tool measures, not as the database of an application."""

from dataclasses import replace

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kinds import postgresql

KIND = replace(postgresql.KIND, name=EMBEDDED, role=ServiceRole.POSTGRESQL)
