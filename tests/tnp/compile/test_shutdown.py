"""A program waits at its end for daemon threads that trace and compile."""

from __future__ import annotations

from tests import processes

WHILE_TRACING = """
import threading, time
import tnp as np

started = threading.Event()

def function(x):
    started.set()
    time.sleep(0.3)
    for step in range(50):  # in torch's C++ code, amid which a thread must not end
        x = np.sin(x) + step
    return x

def work():
    np.compile(function, backend="eager")(np.ones(3))
    print("traced", flush=True)
    np.compile(function, backend="eager")(np.ones(3))
    print("and again", flush=True)

threading.Thread(target=work, daemon=True).start()
started.wait()
"""

AT_THE_END = """
import atexit, threading
import tnp as np

def compiled(x):
    print(np.compile(lambda x: x + 1, backend="eager")(x), flush=True)

compiled(np.zeros(2))
threading.Thread(target=lambda: (threading.main_thread().join(), compiled(np.ones(2)))).start()
atexit.register(compiled, np.ones(2) + 1)
"""


def ended(program: str, times: int) -> list[tuple[str, str, int]]:
    """What each of some processes at once prints, what it complains of, and how it ends."""
    started = [processes.Process("-c", program, torn_down=True) for _ in range(times)]
    return [(*process.communicate(), process.returncode) for process in started]


def test_the_end_waits_for_a_daemon_that_traces_and_lets_it_begin_no_more() -> None:
    assert ended(WHILE_TRACING, 2) == [("traced\n", "", 0)] * 2


def test_other_threads_and_what_runs_at_the_end_still_compile() -> None:
    assert ended(AT_THE_END, 1) == [("[1. 1.]\n[2. 2.]\n[3. 3.]\n", "", 0)]
