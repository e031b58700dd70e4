"""The archive job: a topic into a lake, exactly once by checkpoint: Parquet, or a Delta table."""
