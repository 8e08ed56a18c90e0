"""Well-kept tools that generate load: how each is called, and how its own output becomes figures."""
