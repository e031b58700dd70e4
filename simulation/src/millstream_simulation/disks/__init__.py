"""Simulated disks: they know what has reached them, and lose, tear or refuse the rest."""
