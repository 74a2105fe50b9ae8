"""The minimum of an energy: the mathematics of limited-memory BFGS with a preconditioner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Float64s

# Steps that are remembered, and how often one is halved until the energy falls.
_MEMORY, _HALVINGS = 10, 12
# The part of the slope by which the energy has to fall (Armijo).
_ENOUGH = 1e-4
# The first step, in parts of the preconditioned gradient.
_FIRST = 0.3

Energy = Callable[[Float64s], tuple[float, Float64s]]
Solve = Callable[[Float64s], Float64s]


@dataclass(eq=False)
class Minimiser:
    """The state of a minimisation of places (3, n).

    Attributes:
        places: where the unknowns are.
        longest: the longest way of a place in a step.
    """

    places: Float64s
    longest: float
    _steps: deque[tuple[Float64s, Float64s, float]] = field(
        default_factory=lambda: deque(maxlen=_MEMORY)
    )
    _value: float = 0.0
    _slope: Float64s | None = None

    def energy_changed(self) -> None:
        """Ask for the energy once more: it is another one. The memory stays."""
        self._slope = None

    def step(self, energy: Energy, solve: Solve) -> float:
        """One step down.

        Args:
            energy: its value and its gradient, shape (3, n).
            solve: the preconditioner: the inverse of a matrix like the second derivative.

        Returns:
            the longest way of a place, 0 where there is no way down.
        """
        if self._slope is None:
            self._value, self._slope = energy(self.places)
        slope, value = self._slope, self._value
        direction = self._direction(slope, solve)
        falls = _product(direction, slope)
        if not falls < 0.0:
            self._steps.clear()
            direction = -_FIRST * solve(slope)
            falls = _product(direction, slope)
        way = longest_way(direction)
        if not way > 0.0:
            return 0.0
        part = min(1.0, self.longest / way)
        for _ in range(_HALVINGS):
            places = self.places + part * direction
            found, new_slope = energy(places)
            if found <= value + _ENOUGH * part * falls:
                break
            part /= 2.0
        else:
            return 0.0
        moved, turned = places - self.places, new_slope - slope
        product = _product(moved, turned)
        if product > 0.0:
            self._steps.append((moved, turned, 1.0 / product))
        self.places, self._value, self._slope = places, found, new_slope
        return part * way

    def _direction(self, slope: Float64s, solve: Solve) -> Float64s:
        """The two loops of L-BFGS (Nocedal 1980)."""
        left, amounts = slope.copy(), []
        for moved, turned, scale in reversed(self._steps):
            amount = scale * _product(moved, left)
            left -= amount * turned
            amounts.append(amount)
        if not self._steps:
            return -_FIRST * solve(left)
        _, turned, scale = self._steps[-1]
        found, of_turned = np.split(solve(np.concatenate((left, turned))), 2)
        found /= scale * _product(turned, of_turned)
        for (moved, turned, scale), amount in zip(self._steps, reversed(amounts), strict=True):
            found += (amount - scale * _product(turned, found)) * moved
        return -found


def longest_way(ways: Float64s) -> float:
    """The longest of ways (3, n)."""
    return float(np.sqrt((ways**2).sum(axis=0).max(initial=0.0)))


def _product(one: Float64s, other: Float64s) -> float:
    return float(np.vdot(one, other))
