"""Solved shapes for scripts: added, solved, listed, removed."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ..arrays import Floats
from ..folds.character_folds import STOPPED, FoldsReport, solve_character_folds
from ..folds.estimate import FoldsEstimate
from ..folds.estimate import estimate_folds as estimate_character_folds
from ..folds.shape_editing import (
    JOINT_KINDS,
    JointKind,
    ShapeEditing,
    SolvedShape,
    list_shapes,
    remove_shapes,
)
from ..session.character import characters_of
from ..steps import OnProgress
from ..ui_shared.arguments import (
    chosen_depsgraph,
    mesh_object,
    meshes_of,
    of_characters,
    one_or_all,
    original,
    require_choice,
    several_names,
)
from ..ui_shared.script_runs import interrupts_wait, run_steps


def add_solved_shape(
    obj: bpy.types.Object,
    joints: Sequence[str],
    positions: Floats,
    *,
    kind: JointKind = "AUTO",
    depsgraph: bpy.types.Depsgraph | None = None,
) -> SolvedShape:
    """Let an object show a shape wherever joints are posed as they are now.

    Other joints may be posed, too. A shape of several joints acts where all of them are posed, on
    top of those of fewer of them: add these first. The shapes of a mesh act with the method with
    which the first one was made. Example poses on that base keep the shapes that they show.

    Args:
        obj: a mesh object with an Armature modifier, enabled or not.
        joints: one to four bones, at whose heads the joints are.
        positions: shape (n, 3), object space, the vertices as they are to be in this pose, with all
            of the compensation, and without example poses.
        kind: of joints that have no shape yet: 'HINGE' bends in one plane, as it is bent now;
            'BALL' swings to all sides; 'AUTO' finds it from limits and limbs.
        depsgraph: the state with the pose; by default the current one.

    Returns:
        the poses of the joints, how many vertices the shape moves, and its longest offset.

    Raises:
        BindingError, PoseError: the object cannot be deformed.
        UserError: the shape cannot be added; nothing has changed then.
    """
    obj = mesh_object(obj)
    names = several_names(joints, "joints")
    require_choice("kind", kind, JOINT_KINDS)
    with interrupts_wait():
        editing = ShapeEditing.of(obj, chosen_depsgraph(depsgraph))
        shape = editing.add(names, positions, kind)
        editing.keep()
    return shape


@of_characters
def solved_shapes(obj: bpy.types.Object) -> list[SolvedShape]:
    """The solved shapes of an object, those of one joint first; of an armature for all meshes.

    Raises:
        BindingError: it is neither a mesh nor an armature that deforms one.
        UserError: they cannot be read.
    """
    return list_shapes(mesh_object(obj))


@of_characters
def remove_solved_shapes(obj: bpy.types.Object, joints: Sequence[str] | None = None) -> int:
    """Remove solved shapes, of some joints or of all.

    Args:
        obj: a mesh object, or an armature for all its meshes.
        joints: the bones at whose heads the joints are; shapes that name other joints besides go,
            too. None: all shapes.

    Returns:
        how many there were.

    Raises:
        BindingError: it is neither a mesh nor an armature that deforms one.
        UserError: there are none at such a joint, or the object is linked; nothing has changed.
    """
    names = None if joints is None else several_names(joints, "joints")
    with interrupts_wait():
        return remove_shapes(mesh_object(obj), names)


def solve_folds(
    obj: bpy.types.Object,
    bones: Sequence[str] | None = None,
    *,
    again: bool = False,
    progress: OnProgress | None = None,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> FoldsReport | list[FoldsReport]:
    """Solve how skin folds at joints, as flesh on bones with contact.

    All meshes of the character get solved shapes together. Each joint is solved on the way from
    rest to where it bends at most, the others at rest; nothing is posed. It stays where the skin
    gets better, as it is played; its earlier shapes go, those that name other joints besides, too.

    Args:
        obj: a mesh object with an Armature modifier, or an armature for all its characters.
        bones: at whose heads joints are solved. None: elbows, knees, hips, shoulders, wrists and
            digits, as the limbs show them.
        again: solve those of them that have shapes already. Shapes that were made for another
            method, or for another number of vertices, go.
        progress: called after each step, with how much is done, 0 to 1. What it raises stops the
            work, and the joints that are finished stay.
        depsgraph: the state that is read; by default the current one.

    Returns:
        the joints that were solved, those that were left out, and why; of an armature a list, one
        for each character.

    Raises:
        BindingError: the object cannot be deformed.
        UserError: shapes of a mesh cannot be written, a bone is not there, or nothing folds;
            nothing has changed then.
    """
    names = None if bones is None else several_names(bones, "bones")
    characters = characters_of(meshes_of(obj))
    depsgraph = chosen_depsgraph(depsgraph)
    reports = [
        run_steps(
            solve_character_folds(each.meshes[0].obj, depsgraph, names, again=again),
            progress,
            stopped=STOPPED,
        )
        for each in characters
    ]
    return one_or_all(original(obj), reports)


def estimate_folds(
    obj: bpy.types.Object,
    bones: Sequence[str] | None = None,
    *,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> FoldsEstimate | list[FoldsEstimate]:
    """What `solve_folds` would cost, before it starts; nothing is solved.

    Args:
        obj: a mesh object with an Armature modifier, or an armature for all its characters.
        bones: as of `solve_folds`.
        depsgraph: the state that is read; by default the current one.

    Returns:
        joints, shapes, about how many seconds on one core, and megabytes of memory; of an armature
        a list, one for each character.

    Raises:
        BindingError: the object cannot be deformed.
        UserError: what `solve_folds` raises before it starts.
    """
    names = None if bones is None else several_names(bones, "bones")
    characters, depsgraph = characters_of(meshes_of(obj)), chosen_depsgraph(depsgraph)
    estimates = [
        estimate_character_folds(each.meshes[0].obj, depsgraph, names) for each in characters
    ]
    return one_or_all(original(obj), estimates)
