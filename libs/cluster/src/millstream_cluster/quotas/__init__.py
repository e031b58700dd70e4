"""What clients may use up of a cluster, as Kafka counts it: for whom a quota is, how much was used, how long who is over it waits.

Pure: time is an argument. Who counts where is decided by those that serve (`millstream_runtime.serving`, the services).
"""
