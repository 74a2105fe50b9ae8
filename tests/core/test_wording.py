"""Lists of bones in sentences: fingers are a number, by the names of common rigs."""

from __future__ import annotations

import pytest

from dq_compensation.wording import listed_bones


@pytest.mark.parametrize(
    "fingers",
    [
        ("DEF-f_index.01.L", "DEF-f_middle.01.L", "DEF-f_ring.01.L", "DEF-thumb.02.R"),
        ("LeftHandIndex1", "LeftHandMiddle1", "LeftHandRing3", "LeftHandPinky2"),
        ("mixamorig:LeftHandThumb1", "mixamorig:RightHandRing4", "LeftFinger1", "RThumb"),
        ("index_01_l", "middle_01_l", "ring_01_l", "pinky_03_r"),
        ("finger2-1.L", "finger2-2.L", "finger5-3.R", "thumb-phalanx-distal"),
        ("J_Bip_L_Index1", "J_Bip_L_Little1", "J_Bip_L_Middle1", "J_Bip_L_Ring1"),
    ],
)
def test_fingers_are_counted(fingers: tuple[str, ...]) -> None:
    assert listed_bones(fingers) == "4 finger bones"
    mixed = ("hand.L", *fingers[:2], "head", *fingers[2:], "foot.L", "foot.R", "spine")
    assert listed_bones(mixed) == "hand.L, head, foot.L and 2 more, and 4 finger bones"
    said = [f"{name} (1 cm)" for name in mixed]
    assert listed_bones(mixed, said, 1) == "hand.L (1 cm) and 4 more, and 4 finger bones"
    assert listed_bones(fingers[:2]) == "2 finger bones"
    assert listed_bones(("foot.L", fingers[0])) == f"foot.L, {fingers[0]}"


def test_other_bones_with_such_words_keep_their_names() -> None:
    for names in (("spine_middle", "earring.L", "little_tail"), ("string", "Spring", "ring_top")):
        assert listed_bones(names) == ", ".join(names)
