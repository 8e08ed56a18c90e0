"""The sections of a run's report, one module each: from the stored result to blocks, for every form alike."""
