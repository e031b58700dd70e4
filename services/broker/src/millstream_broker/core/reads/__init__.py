"""What a reader may see, and what waits for more."""
