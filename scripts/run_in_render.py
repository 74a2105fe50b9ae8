"""Run pytest where the GPU works without a window on Blender 4.2 and 4.5: inside a render.

    python scripts/run_in_render.py tests/gpu [more pytest arguments]

`gpu.init()` came with Blender 5.0. Before, the one place in a background process that has a GPU
context is the `render` method of a render engine that asks for it. The process ends there, with
pytest's exit code: Blender's own clean-up after it crashes in such a context.
"""

from __future__ import annotations

import sys

import bpy
import pytest

from leaving import run_and_leave

NOT_RENDERED = 3
"""The exit code where Blender has no GPU to give: then nothing was tested."""


class PytestRenderEngine(bpy.types.RenderEngine):
    """A render engine whose picture is a test run."""

    bl_idname = "DQC_PYTEST"
    bl_label = "Pytest"
    bl_use_gpu_context = True

    def render(self, depsgraph: bpy.types.Depsgraph | None) -> None:  # noqa: ARG002 - Blender's signature
        """Run pytest with the command's arguments and end the process."""
        run_and_leave(lambda: int(pytest.main(sys.argv[1:])))


def main() -> int:
    """Render; only a render that does not happen comes back from it."""
    bpy.utils.register_class(PytestRenderEngine)
    scene = bpy.context.scene
    scene.render.engine = PytestRenderEngine.bl_idname
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.resolution_percentage = 100
    bpy.ops.render.render()
    print("run_in_render: Blender did not render, so no test ran", file=sys.stderr)
    return NOT_RENDERED


if __name__ == "__main__":
    sys.exit(main())
