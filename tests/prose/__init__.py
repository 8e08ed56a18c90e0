"""The prose check: words and sentences of all that people read, held against `words.csv`.

It reads pages, help texts and messages as text: it runs nothing. Names and docstrings are not its matter.
"""
