"""Tiles: rooms full of machines under all loads at once, their score, their peak and what their places do to them."""
