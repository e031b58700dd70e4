"""Manifests of what a Cluster resource owns; pure functions from its spec to objects."""
