"""Fault-tolerant pairs: a virtual machine that records, and a second one that replays it and goes on in its place."""
