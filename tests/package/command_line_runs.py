"""Install the zip, run commands of the extension on a file, and write down what came of them.

    python command_line_runs.py ARCHIVE REPORT.json

A program for a Blender of its own, with an empty `BLENDER_USER_RESOURCES`. It works in the current
folder, and saves no preferences.
"""

import json
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from extension_lifecycle import arm

from blender_stand_in import extension_command, extension_commands
from leaving import run_and_leave

INSTALL = ("install-file", "--repo", "user_default")
COMMANDS = {
    "check": "check --file arm.blend --json check.json",
    "enable": "enable --file arm.blend --output enabled.blend --method COMPENSATED",
    "evaluate": "evaluate --file enabled.blend --frames 1-3 --output arm.npy",
    "bake frames": "bake frames --file enabled.blend --frames 1-3 --output baked.blend",
}


def main(archive: str, report_path: str) -> None:
    installed = extension_command([*INSTALL, archive])
    tube = arm()
    name = tube.name
    armature = tube.modifiers["Armature"].object
    for frame in (1, 3):
        armature.pose.bones["lower"].rotation_mode = "XYZ"
        armature.pose.bones["lower"].rotation_euler.x = 0.5 * frame
        armature.pose.bones["lower"].keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.wm.save_as_mainfile(filepath=str(Path("arm.blend").resolve()))
    execute = extension_commands()["dq_compensation"]
    codes = {each: int(execute(words.split())) for each, words in COMMANDS.items()}
    bpy.ops.wm.open_mainfile(filepath=str(Path("baked.blend").resolve()))
    keys = bpy.data.objects[name].data.shape_keys.key_blocks.keys()
    codes["install"] = installed
    report = {"module": execute.__module__, "codes": codes, "keys": keys}
    Path(report_path).write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    run_and_leave(lambda: main(*sys.argv[1:]))
