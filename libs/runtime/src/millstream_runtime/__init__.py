"""Sockets, clocks, signals: hosts the services, real or simulated."""

VERSION = "0.2.0.dev0"
"""Of the release, and the one place that says it: the package reads it here, and a test holds the chart and the images to it."""
