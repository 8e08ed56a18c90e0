"""`compare` at one load or over several: A against B, in alternation, with a permutation test. Pure."""
