"""The reference pages of the documentation, generated from the code: `python -m docs_reference` writes docs/reference.

Prose that no declaration holds stands beside the modules as Markdown and TOML.
"""
