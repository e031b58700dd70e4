"""Who certifies whom in a cluster: authorities that follow one another, and the certificates that they issue. No I/O."""
