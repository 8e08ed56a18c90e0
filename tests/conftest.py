"""What all tests have in common: they hold beside other load, so other load does not make their runs invalid."""

import os

os.environ["LOADSTONE_FOREIGN_CPU"] = "100"
