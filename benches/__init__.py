"""Measuring the load driver against other tools and against theory: `make bench`. Not part of the product's package."""
