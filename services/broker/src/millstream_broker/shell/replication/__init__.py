"""Copies of partitions on several brokers: what leaders ask the controller for, and what followers ask leaders for."""
