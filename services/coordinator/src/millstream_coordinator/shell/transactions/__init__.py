"""Transactions in service, and the other nodes that they need."""
