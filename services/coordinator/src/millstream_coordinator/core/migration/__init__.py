"""A live group on its way from one protocol to the other."""
