"""How the suite runs: the order of its tests, what it says while it runs, and how long each test took."""
