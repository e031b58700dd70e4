"""Groups as the console watches and moves them."""
