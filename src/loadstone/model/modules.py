"""What the modules of a package declare, found by themselves: adding one is adding its module."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def collect_declared(package: ModuleType, name: str) -> tuple[Any, ...]:
    """The values of this name in all modules of a package that have it, in the order of the modules' names."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{module}") for module in names]
    return tuple(getattr(module, name) for module in modules if hasattr(module, name))
