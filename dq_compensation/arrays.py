"""The types of arrays by the kind of their numbers; docstrings say the shapes.

In the whole package, where a docstring does not say otherwise: `obj` is an original mesh object,
`armature` an original armature object, `depsgraph` an evaluated one; `skeleton` is at rest, and
`influences`, `joints` and `pose` name its bones; an array of n rows has one for each vertex.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Float32s: TypeAlias = NDArray[np.float32]
Float64s: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating]
"""Numbers of either precision."""

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer]
"""Whole numbers of any width."""

Indices: TypeAlias = NDArray[np.intp]
"""Numbers that pick rows of other arrays."""

Booleans: TypeAlias = NDArray[np.bool_]
