"""The archive job: a topic into a Parquet lake, exactly once by checkpoint."""
