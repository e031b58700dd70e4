"""The data plane: partitions, produce and fetch."""
