"""The replay job: a range of a topic into another topic, also of another cluster, as it is and exactly once."""
