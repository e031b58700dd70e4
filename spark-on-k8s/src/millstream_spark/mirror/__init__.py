"""The mirror job: a topic into a topic of another cluster for as long as it runs, with its groups' offsets."""
