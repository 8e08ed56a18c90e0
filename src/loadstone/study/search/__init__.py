"""The search for a peak, below the kinds of study: which load is tried next, what its runs say, and its answer."""
