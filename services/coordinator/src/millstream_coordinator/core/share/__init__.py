"""Share groups (KIP-932): members read the same partitions together, and a record is one member's until it says what became of it."""
