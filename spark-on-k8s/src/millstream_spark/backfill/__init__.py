"""The backfill job: a range of a topic as Parquet files, written by the tasks that read it."""
