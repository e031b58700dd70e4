"""Who is a member, and who was heard of when."""
