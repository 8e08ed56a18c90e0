"""How often what must always hold does hold: many trials of one behaviour. `make test-all` counts them.

`make test` tries each behaviour once; it says whether a change broke something. A rate says how sure that is.
"""

import importlib
import pkgutil

from tests.rates.contract import Rate

MODULES = [module.name for module in pkgutil.iter_modules(__path__) if module.name not in ("__main__", "contract")]
"""What they are about; each module here has its own in `RATES`."""
RATES: tuple[Rate, ...] = tuple(
    rate for name in MODULES for rate in importlib.import_module(f"tests.rates.{name}").RATES
)
"""All of them."""
