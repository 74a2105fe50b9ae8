"""Crowds that could not be drawn: they are left alone until they change."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import bpy

from ..session.memory import memories
from .crowd_figures import CrowdState

_log = logging.getLogger(__name__)

FAILED = "Drawing {crowd} failed: {error}. Change the crowd to try again; the console says more."


@dataclass(frozen=True)
class _Failure:
    """The state of a crowd that could not be drawn, and a sentence for the panel."""

    state: CrowdState
    text: str


def fail_crowd(crowd: bpy.types.Object, state: CrowdState, error: Exception) -> None:
    """Leave a crowd alone after an error as long as it is in this state; the panel says so."""
    _log.error("Drawing %s failed", crowd.name, exc_info=error)
    text = FAILED.format(crowd=crowd.name, error=str(error).rstrip("."))
    memories(_Failure)[crowd.session_uid] = _Failure(state, text)


def failure_of(crowd: bpy.types.Object, state: CrowdState | None) -> str | None:
    """Why a crowd cannot be drawn in a state, a sentence; None where nothing is wrong."""
    failed = memories(_Failure).get(crowd.session_uid)
    return failed.text if failed is not None and failed.state is state else None


def forget_failures() -> None:
    """Try all crowds again."""
    memories(_Failure).clear()
