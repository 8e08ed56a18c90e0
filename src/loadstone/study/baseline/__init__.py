"""A series of runs against one that was kept: what can be said of a change, and whether it breaks what was asked. Pure.

A kept series is one of `repeat`: how far single runs scatter is in it. What was kept is compared with what was measured
another day on the same machine, so that drift between the two is part of the answer; `compare` runs both in turn.
"""
