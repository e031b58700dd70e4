"""The cluster as the operator talks to it: Kafka's admin protocol, like any other client."""
