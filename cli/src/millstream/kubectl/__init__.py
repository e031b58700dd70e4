"""`kubectl millstream`: the commands for a cluster that Kubernetes knows, with no address and no password to be given."""
