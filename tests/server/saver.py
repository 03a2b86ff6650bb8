"""What a user writes: one bare saver object, opened on first use."""

import os

from langgraph_wyrd import WyrdSaver

saver = WyrdSaver.from_conn_string(os.environ["WYRD_SERVER_DATABASE"])
