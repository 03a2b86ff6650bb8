"""`python -m langgraph_wyrd demo [FILE]`."""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["demo"] and len(arguments) <= 2:
        from langgraph_wyrd import demo

        demo.run(*arguments[1:])
        return 0
    print("usage: python -m langgraph_wyrd demo [FILE]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
