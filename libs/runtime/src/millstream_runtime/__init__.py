"""Sockets, clocks, signals: hosts the services, real or simulated."""

VERSION = "0.2.0.dev0"
"""As in pyproject.toml; to ask for what is installed takes as long as to import all this."""
