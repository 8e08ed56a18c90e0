"""Looking at machines: what they are, what they do while a run goes on, what would spoil a measurement."""
