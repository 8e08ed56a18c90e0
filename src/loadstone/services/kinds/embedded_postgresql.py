"""PostgreSQL as the server that a tool measures, not as the database of an application."""

from dataclasses import replace
from functools import partial

from loadstone.model.service import EMBEDDED, ServiceRole, Tuning
from loadstone.services.kinds import postgresql
from loadstone.services.kinds.postgresql import POSTGRESQL_NAME, PostgresqlSettings

MEASURED_CONNECTIONS = 200
"""Each client of a tool has a connection of its own."""
MEASURED_SETTINGS = {tuning: PostgresqlSettings(max_connections=MEASURED_CONNECTIONS) for tuning in Tuning}

KIND = replace(
    postgresql.KIND,
    name=EMBEDDED,
    role=ServiceRole.POSTGRESQL,
    program=partial(postgresql.build_program, usual=MEASURED_SETTINGS),
    settings={POSTGRESQL_NAME: MEASURED_SETTINGS},
)
