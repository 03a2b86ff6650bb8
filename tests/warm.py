"""Runs Python programs in processes of their own, without the second that their imports take.

    python warm.py --serve SOCKET MODULE ...    imports the modules, then forks for each program
    python warm.py SOCKET [-c CODE | -m MODULE | FILE] ...    has it run a program there

The second process lends the program its working directory, its environment and its files 0 to 2,
and ends as the program ends. SIGTERM, or its own death, kills the program; SIGINT is passed on. The
program is forked from a process that has no threads, and ends like any Python: threads are waited
for, what is registered with atexit runs.
"""

import contextlib
import json
import os
import signal
import socket
import sys


def ask(address: str, arguments: list[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(address)
        signals = {signal.SIGTERM: b"%d" % signal.SIGKILL, signal.SIGINT: b"%d" % signal.SIGINT}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until there is a program to tell
        for each, word in signals.items():
            signal.signal(each, lambda *_, word=word: server.send(word))
        program = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(server, [program], [0, 1, 2])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        ended = int(server.recv(16) or 70)
    if ended < 0:
        with contextlib.suppress(OSError):
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    os._exit(ended)


def serve(address: str, modules: list[str]) -> list[str] | None:
    """Until standard input ends; in each forked process: the arguments of its program."""
    import gc
    import importlib
    import select
    import threading

    for each in modules:
        with contextlib.suppress(ImportError):  # a program that needs it says so
            importlib.import_module(each)
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                return None
            client, _ = listening.accept()
            with client:
                if os.fork() == 0:
                    listening.close()
                    return watched(client)


def watched(client: socket.socket) -> list[str]:
    """Forks again, and stays to tell the client how the program ended."""
    import select

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, files, _, _ = socket.recv_fds(client, 1 << 20, 3)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        return become(message, files)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    for each in files:
        os.close(each)
    over = os.pidfd_open(pid)
    while over not in select.select([over, client], [], [])[0]:
        word = client.recv(16)
        os.killpg(pid, int(word or signal.SIGKILL))
        if not word:
            break
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        client.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(message: bytes, files: list[int]) -> list[str]:
    import builtins
    import warnings

    arguments, folder, environment = json.loads(message)
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(  # noqa: SIM115  # as Python opens it when it starts
            number, "w" if number else "r", buffering=1 if number == 2 or os.isatty(number) else -1,
            encoding=environment.get("PYTHONIOENCODING"), closefd=False,
            errors="backslashreplace" if number == 2 else "strict",
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if limit := environment.get("WYRD_TEST_LIMIT"):
        ends_with_tracebacks(float(limit))
    while arguments[0] == "-W":
        action, _, category = arguments[1].partition("::")
        warnings.filterwarnings(action, category=getattr(builtins, category))  # type: ignore[arg-type]
        arguments = arguments[2:]
    return list(arguments)


def ends_with_tracebacks(seconds: float) -> None:
    """End after so long, and say where each thread is; a forked child earlier than its parent."""
    import faulthandler

    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    signal.alarm(round(seconds))
    os.register_at_fork(after_in_child=lambda: signal.alarm(round(0.8 * seconds)))


def execute(how: str, *rest: str) -> None:
    import runpy
    import types

    if how == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif how == "-m":
        sys.argv, sys.path[0] = [*rest], os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [how, *rest], os.path.dirname(os.path.abspath(how))
        runpy.run_path(how, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] != "--serve":
        ask(sys.argv[1], sys.argv[2:])
    elif program := serve(sys.argv[2], sys.argv[3:]):
        execute(*program)
