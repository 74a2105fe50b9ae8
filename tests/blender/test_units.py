"""Millimetres in reports and tolerances: the unit of the scene, whatever the matrix is."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation.bake.options import RangeOptions
from dq_compensation.bake.range_bake import bake_range
from dq_compensation.scene.blender.scenes import object_millimetres, world_millimetres
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import add_mesh, character


@pytest.mark.parametrize(
    ("system", "length", "expected"),
    [("METRIC", 1.0, 1000.0), ("IMPERIAL", 0.01, 10.0), ("NONE", 0.01, 1000.0)],
)
def test_the_length_of_a_unit_counts_in_a_unit_system(
    empty_file: None, system: str, length: float, expected: float
) -> None:
    units = bpy.context.scene.unit_settings
    units.system, units.scale_length = system, length
    assert world_millimetres(bpy.context.scene) == pytest.approx(expected)


def test_a_rotated_object_has_the_scale_that_it_has_unrotated(empty_file: None) -> None:
    obj = add_mesh([(0.0, 0.0, 0.0)])
    # The largest entry of this matrix is 1.62.
    turned = Matrix.Rotation(0.9, 4, (1.0, 2.0, 3.0)) @ Matrix.Rotation(0.7, 4, "Z")
    obj.matrix_world = turned @ Matrix.Diagonal((1.0, 2.0, 0.5, 1.0))
    bpy.context.view_layer.update()
    largest = np.abs(np.array(obj.matrix_world)[:3, :3]).max()
    assert largest < 1.9
    assert object_millimetres(obj, bpy.context.scene) == pytest.approx(2000.0, rel=1e-5)


def test_a_bake_measures_without_a_unit_system_in_metres(addon: None) -> None:
    obj, armature = character()
    armature.pose.bones[1].rotation_mode = "XYZ"
    armature.pose.bones[1].rotation_euler = (0.0, 0.0, 0.3)
    enable(obj)
    units = bpy.context.scene.unit_settings
    found = []
    for system, length in (("METRIC", 1.0), ("NONE", 0.01)):
        units.system, units.scale_length = system, length
        obj.hide_set(False)
        options = RangeOptions(1, 3, tolerance=1.0, onto="COPY")
        steps = bake_range([obj], options)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                (report,) = end.value
                break
        found.append((report.deviation.largest, report.key_names))
    assert found[0][0] > 0.0
    assert found[0] == found[1]
