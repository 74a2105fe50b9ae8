"""Counts the work of Python, which no other load of the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def instructions_of(work: Callable[[], object]) -> int:
    """How many instructions of Python run in a call, and in what it calls; it is called twice."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> object:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        # Python 3.13 counts a function from its second call on.
        work()
        count = 0
        work()
    finally:
        sys.settrace(before)
    return count
