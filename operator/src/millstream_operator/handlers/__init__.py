"""What kopf calls: each handler passes a resource on and decides nothing."""
