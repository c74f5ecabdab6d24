"""Parallel text from the message catalogs of Python packages."""
