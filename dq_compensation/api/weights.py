"""Softens weights, gives clothes those of a body, and puts painted ones back, for scripts."""

from __future__ import annotations

from ..errors import raise_refusal
from ..softness import softening
from ..softness.options import SofteningOptions
from ..softness.softening import SofteningReport
from ..transfer.body_weights import BodyWeightsReport, weights_from_bodies
from ..transfer.options import BodyWeightsOptions
from ..ui_shared.arguments import Objects, mesh_objects
from ..ui_shared.option_arguments import with_option_arguments
from ..ui_shared.script_runs import interrupts_wait, run_steps


@with_option_arguments(SofteningOptions)
def soften_weights(objects: Objects, options: SofteningOptions) -> list[SofteningReport]:
    """Spread weights over more of the limbs, for softer folds and twists.

    Characters need not be enabled. The painted weights are kept in the mesh; `restore_weights`
    gives them back. In Weight Paint with a paint mask only the chosen vertices change.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        {options}

    Returns:
        a report for each object.

    Raises:
        UserError: one of them cannot be softened; nothing has changed then.
    """
    steps = softening.soften_weights(mesh_objects(objects), options)
    return run_steps(steps, options.progress)


@with_option_arguments(BodyWeightsOptions)
def weights_from_body(objects: Objects, options: BodyWeightsOptions) -> list[BodyWeightsReport]:
    """Give clothes the weights of the body below them, and fill in what does not lie on it.

    Characters need not be enabled. Clothes without an Armature modifier or a parent get both. The
    weights from before are kept in the mesh; `restore_weights` gives them back. Locked groups keep
    their weights. In Weight Paint with a paint mask only the chosen vertices change.

    Args:
        objects: the mesh objects that are the clothes, or armatures for all their meshes; the body
            among them stays as it is.
        {options}

    Returns:
        a report for each piece of clothes.

    Raises:
        UserError: one of them cannot take weights; nothing has changed then.
    """
    return run_steps(weights_from_bodies(mesh_objects(objects), options), options.progress)


def restore_weights(objects: Objects) -> None:
    """Give characters the weights back that they had before Soften Weights or Weights from Body.

    Args:
        objects: mesh objects, or armatures for all their meshes.

    Raises:
        UserError: one of them has none, or they cannot be written; nothing has changed then.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(softening.restoring_refusal(obj))
    with interrupts_wait():
        for obj in found:
            softening.restore_weights(obj)
