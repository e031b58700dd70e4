"""Decisions of the operator: pure functions from what is wanted and what is there to steps and conditions."""
