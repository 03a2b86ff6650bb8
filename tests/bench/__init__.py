"""The benchmark: the same work on LangGraph's own savers and on WyrdSaver, side by side.

`python -m tests.bench --help`, and `python -m tests.bench.profile --help` for where the time goes.
"""
