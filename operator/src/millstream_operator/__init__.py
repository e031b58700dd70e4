"""Reconciles Cluster, Topic and ConsumerGroup resources."""
