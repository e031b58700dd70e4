"""The Kubernetes API, as far as the operator writes to it itself; kopf does the watching."""
