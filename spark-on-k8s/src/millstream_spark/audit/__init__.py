"""The audit job: what a lake holds, and what it lacks or holds twice."""
