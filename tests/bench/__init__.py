"""The benchmark: the same work on LangGraph's own savers and on WyrdSaver, side by side.

See `python -m tests.bench --help`.
"""
