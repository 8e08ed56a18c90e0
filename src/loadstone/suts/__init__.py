"""Systems under test that run in programs of others: the sources of their pages."""
