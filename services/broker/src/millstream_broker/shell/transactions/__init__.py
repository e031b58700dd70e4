"""Transactions' part in a produce: partitions are registered, and verified, at the coordinator."""
