"""Who has a partition, and who leads it."""
