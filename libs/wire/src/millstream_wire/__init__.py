"""The Kafka protocol: bytes to values and back; no I/O."""
