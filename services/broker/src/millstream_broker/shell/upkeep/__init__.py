"""What is done to logs at times: flushes, checkpoints, retention, cleaning."""
