"""People and agents: what was said in a thread, who is waited for, and their answers.

Everything here rests on the saver's public methods, never on its tables.
"""
