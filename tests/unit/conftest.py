"""Settings for all unit tests."""

from hypothesis import settings

# Examples are judged by their outcome, not by the clock of a busy machine. They are the same ones each time, so that a change is
# blamed for what it did; `make unit ARGS=--hypothesis-profile=searching` looks for others.
settings.register_profile("millstream", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None)
settings.load_profile("millstream")
