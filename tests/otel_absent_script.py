"""Run by test_otel: everything works without OpenTelemetry, and nothing of it is imported."""

import sys


class Absent:
    """Stands for a machine without the package."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())

import langgraph_wyrd.otel  # noqa: E402
from langgraph_wyrd import WyrdSaver  # noqa: E402
from langgraph_wyrd.errors import MissingExtra  # noqa: E402

with WyrdSaver.from_conn_string("sqlite://") as saver:
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None
    said = ""
    try:
        langgraph_wyrd.otel.instrument(saver)
    except MissingExtra as error:
        said = str(error)
    assert "langgraph-wyrd[otel]" in said
    assert type(saver) is WyrdSaver
print("absent")
