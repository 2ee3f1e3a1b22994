"""The small model that ships: its config and weights as package data. Not for reporting."""
