"""How often what must always hold does hold: many trials of one behaviour. `make test-all` counts them.

`make test` tries each behaviour once; it says whether a change broke something. A rate says how sure that is.
"""

from tests.rates import driver, images, pairs
from tests.rates.contract import Rate

RATES: tuple[Rate, ...] = (*pairs.RATES, *driver.RATES, *images.RATES)
"""All of them; a module each for what they are about."""
