"""People and agents: what was said in a thread, who is waited for, and their answers.

Reading rests on the saver's public methods; `checkpoints/past_writes.py` stores an answer.
"""
