"""What is wrong with a key, a certificate or a setting of TLS, in one line for the person who can put it right."""


class TlsConfigError(Exception):
    """The message names the property and says what would help; never a secret."""
