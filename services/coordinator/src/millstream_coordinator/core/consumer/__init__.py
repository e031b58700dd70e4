"""The consumer group protocol of KIP-848: the coordinator makes the assignments, members follow by heartbeat."""
