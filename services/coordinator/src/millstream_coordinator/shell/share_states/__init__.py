"""The state of share partitions in service, and the way to it from groups."""
