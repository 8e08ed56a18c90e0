"""One execution of one plan: making the plan, running the driver, keeping what it says."""
