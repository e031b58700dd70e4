"""The partitions that are hosted here: opened, found, removed."""
