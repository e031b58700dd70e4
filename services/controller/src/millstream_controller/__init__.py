"""The metadata controller: one log of records, one active writer."""
