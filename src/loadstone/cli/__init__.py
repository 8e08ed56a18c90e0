"""The command line: thin; everything it does is in study, store and report."""
