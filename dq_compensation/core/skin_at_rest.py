"""The skin of one mesh at rest, and the bones that move it as a tree: what each bone hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Int64s, Integers
from .influences import Influences
from .skeleton import BoneKinds, LimbAxis, Skeleton, bones_not_of, bones_of, depths
from .vectors import dots, extent, unit_or

# A limb is longer than this, in radii: a head, which is not, has the bones of a face.
_LONG = 2.5

# The middle of a leaf's skin is within this, in radii: bones of a breast lie farther out.
_AROUND = 1.1

# On a limb whose own bone has no skin, leaves and their skin are within this, in radii.
_INSIDE = 0.5

# With less than this of each vertex, a leaf has no skin of its own.
_OWN = 0.85

# Cosine of the angle from the bone before a twist bone in line to the twist bone.
_IN_LINE = 0.95

# Leaves end here, in lengths of the limb.
_END = 1.05


def _limbs_of_bones(
    positions: Floats, influences: Influences, skeleton: Skeleton, kinds: BoneKinds
) -> Int32s:
    """Shape (B,), the bone whose limb each bone lies on: itself, but for leaves.

    A limb leads from the head of a bone to that of its child from which bones reach farthest.
    Another child is a leaf, with all bones below it, where their heads lie within the limb's
    radius, before its end, and the middle of their skin, too, or as far along it as skin of the
    bone itself and what leaves share with others. The radius is the mean distance of the skin that
    the bone and its leaves have beside the limb.

    A bone that the user takes for a twist bone is a leaf alone, wherever it is; bones below it stay
    limbs. So is one in the line of its limb, between the bone before it and the one behind it,
    whose name says that it twists, also where the user takes it for a limb: it bends at neither of
    its ends. What is a part of a leaf with a bone that the user takes for something else is none.

    Arguments as of `SkinAtRest`.
    """
    own = np.arange(skeleton.bone_count, dtype=np.int32)
    tree = _Branches.of(influences.moving_bones(skeleton.bone_count), skeleton)
    fails = np.bincount(tree.branches[~tree.near], minlength=len(own)) > 0
    fails[tree.branches[np.isin(tree.bones, bones_not_of(kinds, "TWIST_BONE"))]] = True
    rows = np.flatnonzero(~fails[tree.branches])
    if len(rows):
        limbs = skeleton.parents[tree.branches[rows]]
        concerned = np.zeros(len(own), np.bool_)
        concerned[[*limbs, *tree.next_bones[limbs], *tree.bones[rows]]] = True
        slots = np.flatnonzero(concerned[influences.bones] & (influences.weights > 0.0))
        vertices, bones = slots // influences.width, influences.bones.take(slots)
        skin = _Skin(positions, vertices, bones, influences.weights.take(slots))
        for limb in np.unique(limbs).tolist():
            of_limb = rows[limbs == limb]
            next_bone = int(tree.next_bones[limb])
            lie_on = _lie_on(limb, next_bone, tree.bones[of_limb], skin, skeleton)
            fails[tree.branches[of_limb[~lie_on]]] = True
    is_leaf = (np.bincount(tree.branches, minlength=len(own)) > 0) & ~fails
    above = skeleton.parents
    while (going := above >= 0).any():
        is_leaf |= going & is_leaf[above]
        above = np.where(going, skeleton.parents[above], -1)
    is_leaf[bones_of(kinds, "TWIST_BONE")] = True
    is_leaf |= _twists_in_line(skeleton, tree.next_bones, kinds)
    is_leaf &= skeleton.parents >= 0
    limbs = np.where(is_leaf, skeleton.parents, own)
    while is_leaf[limbs].any():
        limbs = np.where(is_leaf[limbs], skeleton.parents[limbs], limbs)
    return limbs


def _twists_in_line(skeleton: Skeleton, next_bones: Indices, kinds: BoneKinds) -> Booleans:
    """Shape (B,), the bones in the line of a limb whose names say that they twist it."""
    found, heads = skeleton.twisting & (skeleton.parents >= 0) & (next_bones >= 0), skeleton.heads
    bones = np.flatnonzero(found)
    above = skeleton.parents[bones]
    ways = (heads[bones] - heads[above], heads[next_bones[bones]] - heads[bones])
    straight = dots(*(unit_or(way, 0.0) for way in ways)) > _IN_LINE
    found[bones] = straight & (next_bones[above] == bones)
    found[bones_of(kinds, "ROW", "FACE", "RIGID")] = False
    return found


@dataclass(frozen=True, eq=False)
class _Branches:
    """The bones below each bone that is not where its parent's limb leads; m pairs.

    Attributes:
        next_bones: shape (B,), the bone at the end of each bone's limb; -1 for none.
        bones: shape (m,), bones with skin, and ends without any.
        branches: shape (m,), the bone that each is below, or itself.
        near: shape (m,), bool; whether the head is near enough to the limb, whatever its radius.
    """

    next_bones: Indices
    bones: Indices
    branches: Indices
    near: Booleans

    @classmethod
    def of(cls, has_skin: Booleans, skeleton: Skeleton) -> _Branches:
        parents, heads = skeleton.parents, skeleton.heads
        has_child = np.bincount(parents[parents >= 0], minlength=len(parents)) > 0
        bones = branches = np.flatnonzero(parents >= 0)
        pairs = [(bones, branches)]
        while len(bones):
            going = parents[parents[branches]] >= 0
            bones, branches = bones[going], parents[branches[going]].astype(np.intp)
            pairs.append((bones, branches))
        bones, branches = (np.concatenate(each) for each in zip(*pairs, strict=True))
        limbs = parents[branches]

        # Where bones go on: not to sockets and targets, which have neither skin nor bones.
        reach, telling = np.zeros(len(parents)), (has_skin | has_child)[bones]
        apart = np.linalg.norm(heads[bones] - heads[limbs], axis=1)
        np.maximum.at(reach, branches[telling], apart[telling])
        rising = np.argsort(reach, kind="stable")
        rising = rising[(reach[rising] > 1e-5 * extent(heads)) & (parents[rising] >= 0)]
        next_bones = np.full(len(parents), -1)
        next_bones[parents[rising]] = rising

        ends = ~has_child & ~has_skin
        asked = (next_bones[limbs] >= 0) & (next_bones[limbs] != branches)
        asked &= has_skin[bones] | (ends[bones] & (bones == branches))
        bones, branches, limbs = bones[asked], branches[asked], limbs[asked]
        lit, above = has_skin.copy(), parents
        while (going := above >= 0).any():
            lit |= going & has_skin[above]
            above = np.where(going, parents[above], -1)
        ways = heads[next_bones[limbs]] - heads[limbs]
        lengths = np.linalg.norm(ways, axis=1)
        away = heads[bones] - heads[limbs]
        near = lit[limbs] & (_along_limb(away, ways) <= _END * lengths)
        near &= _from_limb(away, ways) < lengths / _LONG
        return cls(next_bones, bones, branches, near)


@dataclass(frozen=True, eq=False)
class _Skin:
    """The influences of some bones: vertices, bones and weights, all of shape (m,)."""

    positions: Floats
    vertices: Indices
    bones: Int32s
    weights: Float32s


def _lie_on(limb: int, next_bone: int, bones: Indices, skin: _Skin, skeleton: Skeleton) -> Booleans:
    """Shape (k,), whether each of the bones (k,) lies on a limb."""
    head = skeleton.heads[limb]
    way = skeleton.heads[next_bone] - head
    length = float(np.linalg.norm(way))
    place = np.full(skeleton.bone_count, -1)
    place[bones] = np.arange(len(bones))
    place[limb] = len(bones)
    rows = np.flatnonzero(place[skin.bones] >= 0)
    vertices, weights = skin.vertices[rows], skin.weights[rows].astype(np.float64)
    away = skin.positions[vertices] - head
    along = away @ (way / length)
    beside = weights * ((along > 0.0) & (along < length))
    radius = float(beside @ _from_limb(away, way)) / max(float(beside.sum()), 1e-30)
    moved_next = skin.vertices[skin.bones == next_bone]
    # Segments of a finger that all hang on the hand lie on one line, too, and share no skin with
    # it; bones of a face hang on bones without skin, too, and lie beside each other.
    own = skin.vertices[skin.bones == limb]
    has_own = len(own) > 0
    goes_on = (skeleton.parents == next_bone).any() or np.isin(moved_next, own).any()
    if not goes_on or not 0.0 < _LONG * radius < length:
        return np.zeros(len(bones), np.bool_)
    places = place[skin.bones[rows]]
    sums = [np.bincount(places, weights * axis, len(bones) + 1)[:-1] for axis in away.T]
    moved = np.bincount(places, weights, len(bones) + 1)[:-1, None]
    heads = skeleton.heads[bones] - head
    middles = np.where(moved > 0.0, np.stack(sums, axis=1) / np.maximum(moved, 1e-30), heads)
    found = _from_limb(heads, way) <= radius * (1.0 if has_own else _INSIDE)
    # Of a rope skin lies beyond the limb: that of leaves may, too, as far as nearly all of the
    # bone's own does (the mean less and plus 2 deviations), with what they share with others.
    mass, first, second = (
        np.bincount(places, weights * along**power, len(bones) + 1) for power in range(3)
    )
    largest = np.zeros(len(mass))
    np.maximum.at(largest, places, weights)
    shared = largest[:-1] < _OWN
    mass, first, second = (each[-1] + shared * each[:-1] for each in (mass, first, second))
    mean = first / np.maximum(mass, 1e-30)
    reach = 2.0 * np.sqrt(np.maximum(second / np.maximum(mass, 1e-30) - mean**2, 0.0))
    reached = _along_limb(middles, way)
    beyond = np.maximum(np.minimum(reached, 0.0), np.minimum(mean - reach, 0.0))
    beyond += np.minimum(reached - length, mean + reach - length).clip(0.0)
    middles = middles - beyond[:, None] * (way / length)
    found &= _from_limb(middles, way) <= radius * (_AROUND if has_own else _INSIDE)
    found &= _along_limb(middles, way) <= _END * length
    # A single one is the limb itself: a bone that deforms, on one of a control rig.
    return found & (has_own or np.count_nonzero(found & (moved[:, 0] > 0.0)) > 1)


def _along_limb(away: Floats, ways: Floats) -> Floats:
    """How far vectors (m, 3) reach along limbs, which are ways (m, 3) or one way (3,)."""
    return dots(away, np.broadcast_to(unit_or(ways, 0.0), away.shape))


def _from_limb(away: Floats, ways: Floats) -> Floats:
    """How far points are from limbs, from their heads to their ends, likewise."""
    lengths = np.linalg.norm(ways, axis=-1)
    along = np.clip(_along_limb(away, ways), 0.0, lengths)
    nearest = along[:, None] * unit_or(np.atleast_2d(ways), 0.0)
    return np.linalg.norm(away - nearest, axis=1)


# What is known of a skin whatever its bones are.
_OF_WEIGHTS = ("middle", "moments", "moves")

# What a skin and its skeleton are given as arrays.
_OF_ONE, _OF_SKELETON = (
    ("positions", "mesh_parents", "sides"),
    ("parents", "rest", "tails", "twisting"),
)


@dataclass(frozen=True, eq=False)
class SkinAtRest:
    """The skin of a mesh at rest, its bones, and what is known of their limbs.

    Attributes:
        positions: shape (n, 3), armature space, at rest and without shape keys.
        influences: of the n vertices, on the bones of the skeleton.
        skeleton: of B bones.
        limb_axis: the axis of the bones along which limbs point.
        mesh_parents: shape (B,), the bone that each bone continues on the mesh; -1 for none. None:
            none at all.
        sides: shape (B,), -1 left, 1 right, 0 the middle; None: all in the middle.
        left_out: the bones along whose limbs no twist is spread.
        whole: the skin of all meshes of the character, on the same bones: its limbs and joints are
            those of this skin. None: this mesh alone.
        painted: the influences as they were painted, where softer ones act; None: the same.
        kinds: what the user takes bones for: it counts in the place of what is found.
    """

    positions: Floats
    influences: Influences
    skeleton: Skeleton
    limb_axis: LimbAxis = "AUTO"
    mesh_parents: Int32s | None = None
    sides: Integers | None = None
    left_out: Sequence[int] = ()
    whole: SkinAtRest | None = None
    painted: Influences | None = None
    kinds: BoneKinds = ()

    @property
    def body(self) -> SkinAtRest:
        """The skin on which limbs are found: of the character, or this one."""
        return self if self.whole is None else self.whole

    @cached_property
    def as_painted(self) -> SkinAtRest:
        """The same with the weights as they were painted."""
        if self.painted is None or self.painted is self.influences:
            return self
        return replace(self, influences=self.painted, painted=None)

    @cached_property
    def moves(self) -> Booleans:
        """Shape (B,), which bones move a vertex of the body."""
        return self.body.influences.moving_bones(self.skeleton.bone_count)

    @cached_property
    def without_sides(self) -> SkinAtRest:
        """The same skin as if all its bones were in the middle."""
        return self if self.sides is None else replace(self, sides=None)

    def is_equal_to(self, other: SkinAtRest) -> bool:
        """Whether all that is known of two skins without a body is the same, but for names."""
        pairs = [(getattr(self, name), getattr(other, name)) for name in _OF_ONE]
        for owner, others, names in (
            (self.influences, other.influences, ("bones", "weights")),
            (self.skeleton, other.skeleton, _OF_SKELETON),
        ):
            pairs += [(getattr(owner, name), getattr(others, name)) for name in names]
        same = (self.limb_axis, self.kinds) == (other.limb_axis, other.kinds)
        return same and all(one is two or np.array_equal(one, two) for one, two in pairs)

    @cached_property
    def limbs_of_bones(self) -> Int32s:
        """The bone whose limb each bone of the body lies on, shape (B,)."""
        if self.whole is not None:
            return self.whole.limbs_of_bones
        return _limbs_of_bones(self.positions, self.influences, self.skeleton, self.kinds)

    @cached_property
    def middle(self) -> Float64s:
        """Shape (3,), the mean of the positions."""
        return self.positions.astype(np.float64).mean(axis=0)

    @cached_property
    def moments(self) -> Float64s:
        """Shape (B, 5), of the skin of each bone, about the `middle`.

        They are sums by weights: of the positions, of their squares, and of 1.
        """
        points = self.positions.astype(np.float64) - self.middle  # squares of what is far are lost
        points = np.column_stack((points, dots(points, points), np.ones(len(points))))
        count = self.skeleton.bone_count
        sums = np.zeros((count, 5))
        for rows, bones, weights in self.influences.slots():
            for column in range(5):
                sums[:, column] += np.bincount(bones, weights * points[rows, column], count)
        return sums

    def with_limbs(self, skeleton: Skeleton, mesh_parents: Int32s | None) -> SkinAtRest:
        """The same skin on bones whose limbs end elsewhere, and continue others on the mesh.

        Their heads and parents are the same: leaves are found by these, once.
        """
        limbs, whole = self.limbs_of_bones, vars(self).get("with_whole_limbs", self)
        found = self._with(skeleton, mesh_parents)
        vars(found)["limbs_of_bones"] = limbs
        if whole is not self:
            skeleton = replace(skeleton, parents=whole.skeleton.parents)
            vars(found)["with_whole_limbs"] = whole._with(skeleton, mesh_parents)
        return found

    def _with(self, skeleton: Skeleton, mesh_parents: Int32s | None) -> SkinAtRest:
        """The same skin on other bones, with what is known of it by its weights alone."""
        found = replace(self, skeleton=skeleton, mesh_parents=mesh_parents)
        vars(found).update({name: vars(self)[name] for name in _OF_WEIGHTS if name in vars(self)})
        return found

    @cached_property
    def with_whole_limbs(self) -> SkinAtRest:
        """The same skin as if its leaves on limbs were not there: their limbs have their weights.

        Leaves are bones of their own there, without parents and without skin; bones below one hang
        on its limb.
        """
        limbs = self.limbs_of_bones
        is_leaf = limbs != np.arange(len(limbs))
        if not is_leaf.any():
            return self
        above = self.skeleton.parents
        parents = np.where(is_leaf | (above < 0), -1, limbs[above]).astype(np.int32)
        painted = influences = self.influences.of_bones(limbs)
        if self.as_painted is not self:
            painted = self.as_painted.influences.of_bones(limbs)
        return replace(
            self,
            influences=influences,
            painted=painted,
            skeleton=replace(self.skeleton, parents=parents),
            whole=None if self.whole is None else self.whole.with_whole_limbs,
        )

    @cached_property
    def body_parents(self) -> Int32s:
        """The bone that each bone hangs on, in the tree of bones with skin.

        It is the nearest ancestor that moves vertices, where the mesh shows joints by these. Limbs
        of rigs whose deforming bones have controls for parents (Rigify: thighs, arms) have no such
        ancestor: they hang on the bone that lies in the nearest of these controls, else on the one
        with which their first bone shares most skin as it was painted, one limb after the other
        from the trunk out; never on a bone of the other side: thighs share skin, too. The trunk has
        the fewest bones above it, and of these most skin.

        Shape (B,), -1 for the trunk's first bone and for bones that share no skin with others.
        """
        return (
            self._body_parents(by_controls=True) if self.whole is None else self.whole.body_parents
        )

    @property
    def parents_by_skin(self) -> Int32s:
        """`body_parents` where controls do not tell: a hip bone carries the thigh beside it."""
        return self._body_parents(by_controls=False)

    def _body_parents(self, *, by_controls: bool) -> Int32s:
        skeleton, sides, moves = self.skeleton, self.sides, self.moves
        above = skeleton.parents
        if self.mesh_parents is not None:
            above = skeleton.joined_parents(self.mesh_parents)
        parents = above.copy()
        while (skipped := (parents >= 0) & ~moves[parents]).any():
            parents = np.where(skipped, above[parents], parents)
        if np.count_nonzero(moves & (parents < 0)) > 1:
            sides = np.zeros(len(parents), np.int8) if sides is None else sides
            asked = moves & (parents < 0) & by_controls
            controlled = _bones_in_controls(skeleton, above, moves, asked)
            painted = self.influences if self.painted is None else self.painted
            _join_limbs(parents, controlled, moves, painted, depths(above), sides)
        return parents.astype(np.int32)


# How exactly bones lie in controls, in sizes of the skeleton, and for unit axes.
_SAME_PLACE = 1e-3

# Makes any amount of shared skin less than the least of others.
_LAST = 1e-30


def _bones_in_controls(
    skeleton: Skeleton, above: Int32s, moves: Booleans, asked: Booleans
) -> Int64s:
    """Shape (B,), the bone with skin that lies in the nearest control above each; -1 for none.

    A control moves no skin. A bone lies in it with the same rest matrix, but for the Y axis, which
    leads along the limb that was found. A bone's own control does not count.

    Args:
        above: shape (B,), the parents.
        asked: shape (B,), the bones to look at, above which there are only controls.
    """
    axes = skeleton.rest[:, :3, [0, 2]].reshape(-1, 6)
    places = np.hstack((skeleton.heads / extent(skeleton.heads), axes))
    found, moving = np.full(len(above), -1), np.flatnonzero(moves)
    bones = np.flatnonzero(asked)
    controls = above[bones]
    while len(bones := bones[controls >= 0]):
        controls = controls[controls >= 0]
        lies_in = np.abs(places[controls][:, None] - places[moving]).max(axis=2) < _SAME_PLACE
        lies_in[(lies_in & (moving == bones[:, None])).any(axis=1)] = False
        found[bones] = np.where(lies_in.any(axis=1), moving[lies_in.argmax(axis=1)], -1)
        going = found[bones] < 0
        bones, controls = bones[going], above[controls[going]]
    return found


def _join_limbs(
    parents: Int32s,
    controlled: Int64s,
    moves: Booleans,
    influences: Influences,
    depth: Int64s,
    sides: Integers,
) -> None:
    """Give the first bones of limbs parents, as `SkinAtRest.body_parents` says.

    Args:
        controlled: of `_bones_in_controls`.
    """
    count = len(parents)
    first = np.flatnonzero(moves & (parents < 0))
    row = np.full(count, -1)
    row[first] = np.arange(len(first))
    top = np.arange(count)
    while (parents[top] >= 0).any():
        top = np.where(parents[top] >= 0, parents[top], top)
    limb = row[top]
    bones, weights = influences.bones, influences.weights.astype(np.float64)
    of_bones = np.bincount(bones.ravel(), weights.ravel(), count)
    skin = np.bincount(limb[limb >= 0], of_bones[limb >= 0], len(first))
    vertices, slots = np.nonzero((weights > 0.0) & (row[bones] >= 0))
    pairs = row[bones[vertices, slots]][:, None] * count + bones[vertices]
    products = weights[vertices, slots][:, None] * weights[vertices]
    shared = np.bincount(pairs.ravel(), products.ravel(), len(first) * count)
    shared = shared.reshape(len(first), count)
    shared[sides[first][:, None] * sides[None] < 0] = 0.0
    # Skin counts last where a control tells, unless that would make a cycle.
    told = np.flatnonzero(controlled[first] >= 0)
    shared[told] *= _LAST
    shared[told, controlled[first[told]]] = np.inf
    trunk = np.lexsort((-skin, depth[first]))[0]
    joined = limb == trunk
    waiting = np.arange(len(first)) != trunk
    while waiting.any():
        candidates = np.where(waiting[:, None] & joined[None], shared, 0.0)
        limb_row, bone = divmod(int(candidates.argmax()), count)
        if not candidates[limb_row, bone] > 0.0:
            return
        parents[first[limb_row]] = bone
        joined |= limb == limb_row
        waiting[limb_row] = False


@dataclass(frozen=True, eq=False)
class Paths:
    """The joints on the way from one bone to another, for some pairs of bones.

    Attributes:
        pairs: shape (k,), which pair each step is of.
        joints: shape (k,), the bones at whose heads the joints are.
        of_first: shape (k,), whether a joint is on the way up from the first bone of its pair.
    """

    pairs: Indices
    joints: Int32s
    of_first: Booleans

    @classmethod
    def between(cls, parents: Int32s, first: Integers, second: Integers) -> Paths:
        """The way up from either bone to where they meet; without a common ancestor up to roots."""
        deep = np.append(depths(parents), -1)
        a, b = np.array(first), np.array(second)
        pairs, joints = [np.zeros(0, np.intp)], [np.zeros(0, np.int32)]
        of_first = [np.zeros(0, np.bool_)]
        while (apart := np.flatnonzero(a != b)).size:
            up_first = deep[a[apart]] >= deep[b[apart]]
            for bones, rows in ((a, apart[up_first]), (b, apart[~up_first])):
                steps, above = bones[rows], parents[bones[rows]]
                has_joint = above >= 0
                pairs.append(rows[has_joint])
                joints.append(steps[has_joint].astype(np.int32))
                of_first.append(np.full(len(joints[-1]), bones is a))
                bones[rows] = above
        return cls(np.concatenate(pairs), np.concatenate(joints), np.concatenate(of_first))
