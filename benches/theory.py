"""What theory gives for response times when a server stops once and otherwise answers at once."""

import math


def open_stall_s(seconds: float, stall_s: float, share: float) -> float:
    """The percentile `share` of response time where requests come at a rate, whatever the server does.

    Those that come within the stall wait for its end: times from 0 to `stall_s`, evenly spread, `stall_s / seconds` of
    all. 0 when the percentile lies outside of them.
    """
    return max(0.0, stall_s - (1 - share) * seconds)


def closed_stall_s(sessions: int, think_s: float, seconds: float, stall_s: float, share: float) -> float:
    """The percentile of response time in a closed loop with exponential think times and one stall.

    Each session issues one request after its think time and then waits for the end of the stall: of `sessions`, those
    whose think time ends within u of the stall's beginning wait longer than `stall_s - u`. Requests answered at once
    otherwise: sessions x (seconds - the mean time lost) / think time.
    """
    lost_s = stall_s - think_s * (1 - math.exp(-stall_s / think_s))
    requests = sessions * (seconds - lost_s) / think_s
    longer = (1 - share) * requests
    if longer >= sessions * (1 - math.exp(-stall_s / think_s)):
        return 0.0
    return stall_s + think_s * math.log(1 - longer / sessions)
