"""One partition's log by itself: a course drawn by a seed over a simulated disk, and a model of what must be there."""
