"""A run of many: tiles of six machines under all loads at once, in one measured window."""
