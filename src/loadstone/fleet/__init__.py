"""Hosts: where drivers run and machines are made, when one is not enough."""
