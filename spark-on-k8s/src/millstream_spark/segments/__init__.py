"""Closed segments of a topic as rows, straight from a broker's data directory: `format("millstream-segments")`."""
