"""Questions put to many runs: what each asks for next, the running of them, and their answers."""
