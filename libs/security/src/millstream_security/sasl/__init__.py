"""The SASL mechanisms, both sides, as step machines over tokens. Pure: randomness and time are arguments."""
