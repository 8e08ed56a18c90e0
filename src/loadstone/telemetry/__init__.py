"""Live figures for other tools while a run goes on. Reads the driver's events, never a live object."""
