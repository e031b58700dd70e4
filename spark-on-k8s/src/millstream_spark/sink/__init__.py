"""A streaming query's rows into a Kafka topic, exactly once."""
