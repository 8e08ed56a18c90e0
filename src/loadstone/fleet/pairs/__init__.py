"""Pairs whose halves are on hosts of their own, with a witness on a third."""
