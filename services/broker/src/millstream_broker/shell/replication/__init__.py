"""What brokers do for each other: followers copy from leaders."""
