"""How much copying between brokers takes of what clients need."""
