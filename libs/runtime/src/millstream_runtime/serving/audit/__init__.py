"""What is said of who was refused and of who changed what."""
