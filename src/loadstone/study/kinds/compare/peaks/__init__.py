"""`compare --at peak`: the peaks of two settings, searched in turns. Pure."""
