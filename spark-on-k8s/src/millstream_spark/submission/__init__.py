"""From a Kubernetes Job to a Spark driver pod, safe to repeat."""
