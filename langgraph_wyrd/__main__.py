"""`python -m langgraph_wyrd` is the command `langgraph-wyrd`."""

from langgraph_wyrd.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
