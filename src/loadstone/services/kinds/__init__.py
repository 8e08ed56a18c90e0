"""Programs that take a role where there is a choice, one module each."""
