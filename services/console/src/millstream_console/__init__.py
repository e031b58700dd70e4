"""The console: a web page onto a cluster of any Kafka, and the service that speaks Kafka for it."""
