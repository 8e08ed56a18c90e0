"""Builds the programs into the package. Those who have built them already, as the Makefile does, set
LOADSTONE_PROGRAMS_BUILT: compiling the same crates here again, each program by itself, takes a minute.
"""

import os

from setuptools import setup
from setuptools_rust import Binding, RustBin, RustExtension

PROGRAMS = ("loadstone-driver", "loadstone-pair", "loadstone-server")


def programs() -> list[RustExtension]:
    """The programs, and the library that is loaded into the QEMU of a pair."""
    path = "crates/binaries/Cargo.toml"
    library = RustExtension(
        "loadstone.pair_preload", "crates/pair/preload/Cargo.toml", binding=Binding.NoBinding, debug=False
    )
    return [*(RustBin(name, path, args=["--bin", name], debug=False) for name in PROGRAMS), library]


setup(rust_extensions=[] if os.environ.get("LOADSTONE_PROGRAMS_BUILT") else programs())
