"""A shape key whose points a driver writes with Python, as SDEF of MMD does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import bpy
import numpy as np


def _write(key: Any, height: float) -> float:
    """Lift the half of the limb beyond its elbow."""
    points = np.zeros(3 * len(key.points), np.float32)
    key.id_data.reference_key.points.foreach_get("co", points)
    points[2::3] += height * (points[::3] > 0.7)
    key.points.foreach_set("co", points)
    return 1.0


@contextmanager
def written_key(obj: bpy.types.Object) -> Generator[None]:
    """A limb gets a key that equals the basis until a driver writes it, by its property `height`.

    In frame 10 the property is 0.2 metres, in frame 3 it is 0.06.
    """
    bpy.app.driver_namespace["write_key"] = _write
    obj["height"] = 0.2
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Written")
    curve = obj.data.shape_keys.driver_add('key_blocks["Written"].value')
    curve.driver.use_self = True
    variable = curve.driver.variables.new()
    variable.name, variable.type = "height", "SINGLE_PROP"
    variable.targets[0].id = obj
    variable.targets[0].data_path = '["height"]'
    curve.driver.expression = "write_key(self, height)"
    bpy.context.view_layer.update()
    yield
    del bpy.app.driver_namespace["write_key"]


def lift(obj: bpy.types.Object, height: float) -> None:
    """Let the driver write another shape."""
    obj["height"] = height
    obj.update_tag()
    bpy.context.view_layer.update()
