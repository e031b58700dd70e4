"""Whether a batch may be appended."""
