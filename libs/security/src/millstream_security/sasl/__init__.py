"""SASL without I/O: mechanisms on both sides, credentials, and the states of a login. Time and randomness are arguments."""
