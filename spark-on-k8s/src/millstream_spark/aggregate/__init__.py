"""The aggregate job: a topic's totals by window and key into another topic, exactly once; what cannot be counted into a third."""
