"""What the logs of all kinds of shards have in common: the claim, and what one command may write."""
