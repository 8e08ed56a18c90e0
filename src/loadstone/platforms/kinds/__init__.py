"""The platforms, one module each: what makes machines, and what can be said of them."""
