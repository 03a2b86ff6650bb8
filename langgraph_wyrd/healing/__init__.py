"""Damage found on load: what was written is had back where that can be proved, else said aloud."""
