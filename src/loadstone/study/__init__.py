"""Questions asked of runs: so far a run of one or several workloads, and the same in virtual time."""
