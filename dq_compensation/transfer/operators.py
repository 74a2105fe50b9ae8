"""The feature's operator: clothes take the weights of a body."""

from __future__ import annotations

from typing import cast

from bpy.types import Context, Event, Object, UILayout

from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_hidden
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.selected_characters import refused_by_all
from ..scene.stack import find_rig
from ..ui_shared.option_properties import options_from, with_option_properties
from ..ui_shared.reporting import OperatorResult, Refusing, RunsInSteps, Steps
from .body_weights import body_weights_refusal, weights_from_bodies
from .options import BodyWeightsOptions

# Up to so many vertices, which take about a second, it runs at once: the panel to adjust it opens.
_AT_ONCE = 15_000


def selected_clothes(context: Context) -> tuple[list[Object], Object | None]:
    """The selected meshes that take weights, and the selected body; None: it is found.

    Where some meshes follow bones and others do not, the others are the clothes. In Weight Paint
    the painted mesh is the only one.
    """
    active = context.active_object
    if active is not None and active.mode == "WEIGHT_PAINT":
        return [active], None
    selected = [obj for obj in context.selected_objects if not is_hidden(obj)]
    meshes = sorted(
        (obj for obj in selected if obj.type == "MESH"), key=lambda obj: (obj != active, obj.name)
    )
    bare = [obj for obj in meshes if deformation_refusal(SkinnedObject(obj)) is not None]
    rigs = [obj for obj in selected if obj.type == "ARMATURE"]
    if not bare or (len(bare) == len(meshes) and not rigs):
        return meshes, None
    below = [obj for obj in meshes if obj not in bare]
    # Several meshes are one body, that of their armature.
    body = below[0] if len(below) == 1 else find_rig(below[0]) if below else rigs[0]
    return bare, body


@with_option_properties(BodyWeightsOptions)
class DQC_OT_weights_from_body(Refusing, RunsInSteps):
    """Give clothes the weights of the body below them, and fill in what does not lie on it. \
Select the clothes, and the body or its armature if they have none yet. Put Weights Back gives the \
weights from before back"""

    bl_idname = "dqc.weights_from_body"
    bl_label = "Weights from Body"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        clothes, _ = selected_clothes(context)
        if not clothes:
            return "Select clothes, and the body or its armature"
        return refused_by_all(clothes, body_weights_refusal)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        clothes, body = selected_clothes(context)
        if body is not None:
            self.body = body.name
        vertices = sum(len(mesh_of(obj).vertices) for obj in clothes)
        self._interactive = vertices > _AT_ONCE
        return self.execute(context)

    def draw(self, context: Context) -> None:
        column = cast("UILayout", self.layout).column()
        column.use_property_split = True
        column.prop_search(self, "body", context.scene, "objects")
        for name in ("distance", "angle", "influences", "only_missing", "mix"):
            column.prop(self, name)
        column.label(text="Blue: matched. Yellow: filled. Purple: loose.", icon="COLOR")

    def steps(self, context: Context) -> Steps:
        clothes, body = selected_clothes(context)
        if not self.body and body is not None:
            self.body = body.name
        return weights_from_bodies(clothes, options_from(self, BodyWeightsOptions))


CLASSES = (DQC_OT_weights_from_body,)
