"""The operating system's TCP under `network.Network`: non-blocking sockets of our own on the event loop's readiness calls.

Not asyncio's transports, because replies need sendfile and one gathered send per tick, and frames are read without a copy.
"""
