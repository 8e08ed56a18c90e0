"""The result folder: writing, sealing, reading, and what older versions wrote."""
