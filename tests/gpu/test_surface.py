"""What is drawn: where, in which colours, and that the GPU's state is as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy
import gpu
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.topology import topology
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_positions
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.look import (
    StudioLight,
    SurfaceMaterial,
    ViewUniforms,
    draw_solid,
    draw_wire,
    drawing_state,
    placements_texture,
)
from human.model import load_human_arrays
from tests.gpu.one_instance import deform_in
from tests.gpu.regions import pixels_of

SIZE = 96
LAMP = StudioLight(direction=(0.0, 0.0, 1.0), diffuse=(1.0, 1.0, 1.0))
WHITE = SurfaceMaterial(colour=(1.0, 1.0, 1.0, 1.0))
# World Z up on the screen, seen from the front, along +Y.
FRONT = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, -0.85], [0, -1.0, 0, -4.0], [0, 0, 0, 1.0]])


@dataclass
class Canvas:
    """Draws offscreen and reads the picture back."""

    view_matrix: NDArray[np.float64]
    projection: NDArray[np.float64]

    def draw(
        self,
        deformed: DeformedMesh,
        materials: Sequence[SurfaceMaterial] = (WHITE,),
        *,
        object_matrix: NDArray[np.float64] | None = None,
        lights: Sequence[StudioLight] = (LAMP,),
        ambient: tuple[float, float, float] = (0.0, 0.0, 0.0),
        highlights: bool = False,
        wire: bool = False,
    ) -> NDArray[np.float32]:
        """Shape (SIZE, SIZE, 4), rows from the bottom up, linear; alpha 0 where nothing is."""
        matrix = np.eye(4) if object_matrix is None else object_matrix
        placements = placements_texture([matrix])
        view = ViewUniforms()
        view.update(self.view_matrix, self.projection, lights, ambient, highlights=highlights)

        def draw() -> None:
            with drawing_state():
                if wire:
                    draw_wire(deformed, view, placements, (0.25, 0.5, 0.75, 1.0))
                else:
                    draw_solid(deformed, view, placements, materials)

        return pixels_of(draw, SIZE)


def _orthographic(half_height: float) -> NDArray[np.float64]:
    projection = np.diag([1.0 / half_height, 1.0 / half_height, -0.1, 1.0])
    projection[2, 3] = -0.4
    return projection


def _perspective() -> NDArray[np.float64]:
    near, far, cotangent = 0.1, 20.0, 3.2
    projection = np.diag([cotangent, cotangent, -(far + near) / (far - near), 0.0])
    projection[2, 3] = -2.0 * far * near / (far - near)
    projection[3, 2] = -1.0
    return projection


def _inside_triangles(points: NDArray[np.float64], triangles: NDArray[np.int32]) -> NDArray[Any]:
    """Which pixel centres some triangle covers; `points` in pixels. The independent rasteriser."""
    covered = np.zeros((SIZE, SIZE), np.bool_)
    for a, b, c in points[triangles]:
        low = np.maximum(np.floor(np.minimum(np.minimum(a, b), c) - 0.5).astype(int), 0)
        high = np.minimum(np.ceil(np.maximum(np.maximum(a, b), c)).astype(int) + 1, SIZE)
        if (low >= high).any():
            continue
        x = np.arange(low[0], high[0]) + 0.5
        y = (np.arange(low[1], high[1]) + 0.5)[:, None]
        sides = [
            (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])
            for p, q in ((a, b), (b, c), (c, a))
        ]
        inside = np.all([side >= 0 for side in sides], axis=0)
        inside |= np.all([side <= 0 for side in sides], axis=0)
        covered[low[1] : high[1], low[0] : high[0]] |= inside
    return covered


@pytest.mark.parametrize("projection", [_orthographic(1.0), _perspective()], ids=["ortho", "persp"])
def test_the_silhouette_is_that_of_the_deformed_human(
    humans: dict[str, Any], make_pose: Callable[..., Pose], projection: NDArray[np.float64]
) -> None:
    human = humans["cmu_mb"]
    mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
    deformed, pose = DeformedMesh(mesh, human.skeleton), make_pose(human.skeleton, 2, 0.5)
    found = deform_in(deformed, Deformation("DUAL_QUATERNION", human.influences), pose)
    picture = Canvas(FRONT, projection).draw(deformed)
    drawn = picture[:, :, 3] > 0.0
    points = np.column_stack((found, np.ones(len(human.rest))))
    clip = points.astype(np.float64) @ (projection @ FRONT).T
    pixels = (clip[:, :2] / clip[:, 3:] + 1.0) * 0.5 * SIZE
    expected = _inside_triangles(pixels, human.topology.triangles)
    assert expected.sum() > 500
    # Only pixels whose centre an outline meets may differ.
    assert (drawn != expected).sum() <= 0.01 * expected.sum()
    # Lit from the eye: the middle of the body is bright, its outline dark.
    light = picture[:, :, 0][drawn]
    assert light.max() > 0.9
    assert light.min() < 0.5
    assert np.isfinite(picture).all()


def _static(mesh: bpy.types.Mesh) -> DeformedMesh:
    """A mesh that nothing moves; removes the Blender mesh."""
    rest = read_positions(mesh)
    surface = topology(read_mesh_arrays(mesh, rest))
    bpy.data.meshes.remove(mesh)
    count = len(rest)
    influences = Influences(np.zeros((count, 1), np.int32), np.zeros((count, 1), np.float32))
    skeleton = Skeleton(("bone",), np.array([-1], np.int32), np.eye(4)[None], np.ones((1, 3)))
    deformed = DeformedMesh(GpuMesh(rest, influences, topology=surface), skeleton)
    deform_in(deformed, Deformation("LINEAR", influences), Pose.rest(skeleton))
    return deformed


@pytest.fixture
def two_squares() -> DeformedMesh:
    """In the XZ plane, facing -Y: left of x = 0 material 0, right of it material 2."""
    mesh = bpy.data.meshes.new("Squares")
    points = [(x, 0.0, z) for z in (0.0, 1.7) for x in (-0.8, 0.0, 0.8)]
    mesh.from_pydata(points, [], [(0, 1, 4, 3), (1, 2, 5, 4)])
    for name in "abc":
        mesh.materials.append(bpy.data.materials.new(name))
    mesh.polygons.foreach_set("material_index", np.array([0, 2], np.int32))
    return _static(mesh)


def _reciprocal(value: float) -> float:
    """Blender's own approximation of 1 / value."""
    bits = np.int32(0x7EEF370B) - np.float32(value).view(np.int32)
    return float(bits.view(np.float32))


HARD = _reciprocal(1.0)  # what a lamp without wrap gives where it shines straight on
LEFT, RIGHT = (SIZE // 2, SIZE // 4), (SIZE // 2, 3 * SIZE // 4)


def test_each_material_slot_has_its_colour(two_squares: DeformedMesh) -> None:
    canvas = Canvas(FRONT, _orthographic(1.0))
    materials = [replace(WHITE, colour=(0.1 * n + 0.1, 0.5, 0.9, 0.5)) for n in range(3)]
    picture = canvas.draw(two_squares, materials)
    # The lamp is behind the eye and the squares face it: the light is all of the colour.
    lit = np.array((HARD, HARD, HARD, 1.0))
    np.testing.assert_allclose(picture[LEFT], lit * (0.1, 0.5, 0.9, 0.5), atol=2e-3)
    np.testing.assert_allclose(picture[RIGHT], lit * (0.3, 0.5, 0.9, 0.5), atol=2e-3)
    fewer = canvas.draw(two_squares, materials[:2])
    np.testing.assert_allclose(fewer[RIGHT], lit * (0.2, 0.5, 0.9, 0.5), atol=2e-3)
    assert not canvas.draw(two_squares, []).any()


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([1.0, 1.0, 1.0, 1.0]),
        np.diag([-1.0, 1.0, 1.0, 1.0]),
        np.diag([1.0, -1.0, 1.0, 1.0]),
        np.diag([0.5, 3.0, 1.0, 1.0]),
    ],
    ids=["plain", "mirrored across", "turned away and mirrored", "uneven"],
)
def test_both_sides_are_lit_from_where_the_eye_is(
    two_squares: DeformedMesh, matrix: NDArray[np.float64], flat: bool
) -> None:
    behind = np.diag([-1.0, 1.0, -1.0, 1.0]) @ FRONT
    behind[2, 3] = -4.0
    material = replace(WHITE, flat=flat)
    for view in (FRONT, behind):
        picture = Canvas(view, _orthographic(1.0)).draw(
            two_squares, [material], object_matrix=matrix
        )
        inside = picture[SIZE // 2, SIZE // 2 - 8]
        np.testing.assert_allclose(inside, (HARD, HARD, HARD, 1.0), atol=2e-3)


def test_lamps_wrap_ambient_and_highlights_add_up(two_squares: DeformedMesh) -> None:
    canvas = Canvas(FRONT, _orthographic(1.0))
    grazing = StudioLight(direction=(1.0, 0.0, 0.0), diffuse=(1.0, 0.5, 0.0))
    assert canvas.draw(two_squares, lights=[grazing])[LEFT][:3].max() == 0.0
    # cos = 0, wrap w: w / (1 + w)^2
    light = 0.5 * _reciprocal(2.25)
    wrapped = canvas.draw(two_squares, lights=[replace(grazing, wrap=0.5)])[LEFT]
    np.testing.assert_allclose(wrapped[:3], np.array([1.0, 0.5, 0.0]) * light, atol=2e-3)
    both = canvas.draw(two_squares, lights=[replace(grazing, wrap=0.5)], ambient=(0.1, 0.1, 0.1))
    np.testing.assert_allclose(both[LEFT][:3], wrapped[:3] + 0.1, atol=2e-3)
    shiny = replace(LAMP, specular=(1.0, 1.0, 1.0))
    mirror = SurfaceMaterial(colour=(0.5, 0.5, 0.5, 1.0), metallic=1.0, roughness=0.3)
    bright = canvas.draw(two_squares, [mirror], lights=[shiny], highlights=True)[LEFT]
    # A mirror facing lamp and eye: colour (1 + shininess / 8), shininess = 2^(10 (1 - 0.3) + 1).
    np.testing.assert_allclose(bright[:3], 0.5 * (1.0 + 256.0 / 8.0), rtol=0.02)


def test_edges_are_drawn_where_they_are(two_squares: DeformedMesh) -> None:
    picture = Canvas(FRONT, _orthographic(1.0)).draw(two_squares, wire=True)
    drawn = picture[:, :, 3] > 0.0
    np.testing.assert_allclose(picture[drawn], np.tile((0.25, 0.5, 0.75, 1.0), (drawn.sum(), 1)))
    assert not drawn[LEFT]
    assert drawn[SIZE // 2].sum() in (3, 4, 5, 6)
    assert drawn[:, SIZE // 4].sum() == 2


def test_wire_lies_in_front_of_its_own_surface(two_squares: DeformedMesh) -> None:
    view = ViewUniforms()
    view.update(FRONT, _perspective(), [LAMP], (0.0, 0.0, 0.0))

    def draw() -> None:
        with drawing_state():
            draw_solid(two_squares, view, placements_texture([np.eye(4)]), [WHITE])
            draw_wire(two_squares, view, placements_texture([np.eye(4)]), (0.0, 0.0, 5.0, 1.0))

    blue = pixels_of(draw, SIZE)[:, :, 2]
    assert (blue[SIZE // 2] == 5.0).sum() >= 3


def test_a_mesh_without_faces_draws_its_edges_alone() -> None:
    mesh = bpy.data.meshes.new("Edges")
    mesh.from_pydata([(-0.5, 0, 0.5), (0.5, 0, 1.2), (0, 0, 0)], [(0, 1)], [])
    deformed = _static(mesh)
    canvas = Canvas(FRONT, _orthographic(1.0))
    assert not canvas.draw(deformed).any()
    assert canvas.draw(deformed, wire=True).any()


def test_the_state_is_put_back_even_after_an_error() -> None:
    gpu.state.blend_set("ADDITIVE")
    gpu.state.depth_test_set("GREATER")
    gpu.state.depth_mask_set(False)

    def draw() -> None:
        with drawing_state(blend="ALPHA"):
            assert gpu.state.blend_get() == "ALPHA"
            raise RuntimeError("while drawing")

    with pytest.raises(RuntimeError, match="while drawing"):
        draw()
    assert gpu.state.blend_get() == "ADDITIVE"
    assert gpu.state.depth_test_get() == "GREATER"
    assert not gpu.state.depth_mask_get()
    gpu.state.blend_set("NONE")
    gpu.state.depth_test_set("NONE")


@pytest.mark.skipif(
    not bpy.app.background or not hasattr(gpu, "init"), reason="renders, so not within a render"
)
def test_it_looks_like_solid_shading(
    humans: dict[str, Any], make_pose: Callable[..., Pose], tmp_path: Path
) -> None:
    """Against Blender's own engine for Solid mode: within 2 of 255 on almost every pixel."""
    human = humans["cmu_mb"]
    on_gpu = GpuMesh(human.rest, human.influences, topology=human.topology)
    deformed, pose = DeformedMesh(on_gpu, human.skeleton), make_pose(human.skeleton, 2, 0.5)
    posed = deform_in(deformed, Deformation("DUAL_QUATERNION", human.influences), pose)
    preferences = bpy.context.preferences.system
    lamps = [
        StudioLight(
            tuple(lamp.direction),
            tuple(lamp.diffuse_color),
            tuple(lamp.specular_color),
            lamp.smooth,
        )
        for lamp in preferences.solid_lights
        if lamp.use
    ]
    ours = Canvas(FRONT, _perspective()).draw(
        deformed, [SurfaceMaterial()], lights=lamps, highlights=True
    )

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    mesh = bpy.data.meshes.new("Posed")
    faces = load_human_arrays("cmu_mb").faces
    mesh.from_pydata(posed.tolist(), [], faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    scene.collection.objects.link(bpy.data.objects.new("Posed", mesh))
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.matrix_world = np.linalg.inv(FRONT).T.tolist()
    camera.data.angle = 2.0 * np.arctan(1.0 / 3.2)
    scene.camera = camera
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.film_transparent = True
    scene.display.render_aa = "OFF"
    scene.display.shading.light = "STUDIO"
    scene.display.shading.show_specular_highlight = True
    scene.view_settings.view_transform = "Raw"
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.filepath = str(tmp_path / "solid.exr")
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath)
    theirs = np.array(image.pixels[:], np.float32).reshape(SIZE, SIZE, 4)

    both = (ours[:, :, 3] > 0.0) & (theirs[:, :, 3] > 0.99)
    assert both.sum() > 500
    difference = np.abs(_encoded(ours[both]) - _encoded(theirs[both]))[:, :3].max(axis=1)
    # Outlines may fall to another pixel and with it to another face.
    assert np.quantile(difference, 0.95) < 2.0 / 255.0


def _encoded(linear: NDArray[np.float32]) -> NDArray[np.float32]:
    """SRGB from linear colours, which is what the eye compares."""
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)
