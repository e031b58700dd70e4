"""Answers that any node gives from its Image: pure functions from (image, request) to Kafka's response."""
