"""Pure cores, joined in memory and driven through thousands of schedules a second."""
