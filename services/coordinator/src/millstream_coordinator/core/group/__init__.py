"""What classic, consumer and share groups have in common; it knows none of them."""
