"""Judging: limits, validity, verdicts, scores. Pure: reads no clock, file or socket."""
