"""Topics made, configured and deleted."""
