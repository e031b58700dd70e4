"""The machine that keeps groups and offsets: its state, its records, and their bytes."""
