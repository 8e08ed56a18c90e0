"""Options of commands that visit a system that others set up, as the table `[target]` of study files declares them."""

from pathlib import Path
from typing import Annotated

from loadstone.cli.section_options import make_option
from loadstone.study.sections import TargetSection

Authority = Annotated[Path | None, make_option(TargetSection, "authority", "")]
Insecure = Annotated[bool, make_option(TargetSection, "verify", "")]
Certificate = Annotated[Path | None, make_option(TargetSection, "cert", "")]
Key = Annotated[Path | None, make_option(TargetSection, "key", "")]
