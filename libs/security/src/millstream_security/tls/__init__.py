"""What TLS listeners and connections are told: certificates, keys, and the principal that a certificate stands for."""
