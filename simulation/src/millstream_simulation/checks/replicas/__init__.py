"""Replicas of one partition against each other, and against what is committed of it."""
