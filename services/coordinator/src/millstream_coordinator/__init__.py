"""The group coordinator: shards of groups and their offsets."""
