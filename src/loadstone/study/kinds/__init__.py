"""The kinds of study, one module each: what it may be asked, its question, its answer, what a report shows of it."""
