"""The usual shapes of Produce and Fetch, read and written by hand: the same bytes as the codec's, sooner."""
