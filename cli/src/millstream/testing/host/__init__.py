"""The other process: clusters of real nodes in threads, whose clocks, links and disks a test decides about."""
