"""The nouns: frozen, typed records and the reading of the files users write. Imports nothing else of ours."""
