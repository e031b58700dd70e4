"""A server's side of a connection: listeners, versions, handlers and their context."""
