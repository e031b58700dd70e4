"""What is wrong with the settings of logins, as one line for the person who wrote them; never with a password in it."""


class SaslConfigError(ValueError):
    """Names the key and what it must be."""
