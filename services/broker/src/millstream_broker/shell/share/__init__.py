"""Share groups' fetches carried out: sessions, partitions, and their state at the coordinator."""
