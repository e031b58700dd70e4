"""Who may log in, as decisions: SCRAM credentials and delegation tokens."""
