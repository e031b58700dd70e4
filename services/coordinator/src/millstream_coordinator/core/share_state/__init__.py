"""The state of share partitions: how far a group has come in one, and what became of the records from there on (KIP-932)."""
