"""Carrying threads: from saver to saver, out of the official ones' databases, as files."""
