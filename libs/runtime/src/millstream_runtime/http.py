"""/healthz, /readyz and /metrics of a process, for Kubernetes and Prometheus."""
