"""The groups of a shard in service, one file for each protocol."""
