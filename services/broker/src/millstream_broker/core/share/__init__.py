"""What a share group may have of a partition, and what it said of it."""
