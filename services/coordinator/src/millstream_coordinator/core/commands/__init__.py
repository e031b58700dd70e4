"""What a shard of groups is asked to do, as decisions over the whole shard."""
