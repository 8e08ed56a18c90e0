"""What studies reckon with: statistics of repeated runs, and queueing theory. Pure."""
