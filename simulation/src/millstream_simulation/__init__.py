"""The whole system in one process under virtual time, with a network that delays, breaks and parts, by seed."""
