"""What a broker knows of a partition that it hosts, beside its log."""
