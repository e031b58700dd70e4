"""A world that a seed decides: virtual time, a hostile network, processes that die."""
