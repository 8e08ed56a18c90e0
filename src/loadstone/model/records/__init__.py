"""The stored documents, typed: what a run, its verdict and a study's folder hold. Read and written by the store."""
