"""Messages of a topic as a person looks for them: found, followed, shown."""
