"""PySpark jobs over Kafka topics, and their submission to Kubernetes."""
