"""Python's records of the driver's events, written from the schema that the driver's own types give."""
