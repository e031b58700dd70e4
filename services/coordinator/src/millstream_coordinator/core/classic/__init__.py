"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup as one machine with deadlines."""
