"""The commands that talk to a cluster or read its files: topic, produce, consume, config, log."""
