"""Softens the weights of characters, and puts the painted ones back."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import raise_refusal
from ..scene.weights import softening
from ..scene.weights.softening import SofteningOptions, SofteningReport
from .arguments_of_scripts import Objects, mesh_objects
from .options_of_scripts import takes_options
from .steps_of_scripts import OnProgress, interrupts_wait, run_steps


@dataclass(frozen=True, kw_only=True)
class _Arguments(SofteningOptions):
    progress: OnProgress | None = None


@takes_options(_Arguments)
def soften_weights(objects: Objects, options: _Arguments) -> list[SofteningReport]:
    """Spread the weights of characters over more of their limbs, enabled or not.

    The painted weights are kept in the mesh; `restore_weights` gives them back. In Weight Paint
    with a paint mask only the chosen vertices change.

    Args:
        objects: a mesh object or several.
        {options}
        progress: called after each step.

    Returns:
        a report for each object.

    Raises:
        UserError: one of them cannot be softened; nothing has changed then.
    """
    steps = softening.soften_weights(mesh_objects(objects), options)
    return run_steps(steps, options.progress)


def restore_weights(objects: Objects) -> None:
    """Give mesh objects the weights back that they had before they were softened, exactly.

    Args:
        objects: a mesh object or several.

    Raises:
        UserError: one of them has none, or they cannot be written; nothing has changed then.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(softening.restoring_refusal(obj))
    with interrupts_wait():
        for obj in found:
            softening.restore_weights(obj)
