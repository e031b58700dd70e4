"""How a node takes part in its cluster: it finds the controllers, follows their metadata, registers and keeps its session."""
