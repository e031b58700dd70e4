"""Shards that are this coordinator's: claimed, loaded, served, given up."""
