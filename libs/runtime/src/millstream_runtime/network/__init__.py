"""Links between processes as the services see them, and the real ones on sockets."""
