"""Settings for all unit tests."""

from hypothesis import settings

# Examples are judged by their outcome, not by the clock of a busy machine.
settings.register_profile("millstream", deadline=None)
settings.load_profile("millstream")
