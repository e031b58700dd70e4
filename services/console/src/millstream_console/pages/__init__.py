"""What each page asks of a cluster, as JSON."""
