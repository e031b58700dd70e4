"""Sockets, clocks, signals: hosts the services, real or simulated."""
