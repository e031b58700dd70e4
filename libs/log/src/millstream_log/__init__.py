"""Segmented logs in Kafka's directory format."""
