// SPDX-License-Identifier: GPL-3.0-or-later
// A job type for Flamenco 3.3 and newer: a long range of frames of one .blend file in chunks, and a
// last task that joins them. docs/farm.md explains it.

const JOB_TYPE = {
  label: "DQ Compensation: frames",
  description: "Write the positions of characters in many frames, or bake them to shape keys",
  settings: [
    { key: "frames", type: "string", required: true,
      eval: "f'{C.scene.frame_start}-{C.scene.frame_end}'",
      evalInfo: { showLinkButton: true, description: "Scene frame range" },
      description: "The first and the last frame, as 1-250" },
    { key: "chunk_size", type: "int32", default: 50, propargs: { min: 1 }, visible: "submission",
      description: "How many frames a task computes" },
    { key: "objects", type: "string", default: "",
      description: "Names or patterns of mesh objects, with commas between them. Without any, all skinned meshes" },
    { key: "chunks", type: "string", subtype: "dir_path", required: true, visible: "submission",
      description: "Folder for the chunks, on a disk that all workers share. It must exist" },
    { key: "chunks_path", type: "string", visible: "web", eval: "bpy.path.abspath(settings.chunks)",
      description: "The folder for the chunks" },
    { key: "output", type: "string", subtype: "file_path", required: true, visible: "submission",
      description: "The result: .pc2, .mdd or .npz for positions, .blend for a copy with shape keys" },
    { key: "output_path", type: "string", visible: "web", eval: "bpy.path.abspath(settings.output)",
      description: "The result" },
    { key: "tolerance", type: "float", default: 0.0, propargs: { min: 0.0 },
      description: "Of shape keys, in millimetres. Frames that interpolation gives to within it get none" },
    { key: "blendfile", type: "string", required: true, visible: "web",
      description: "The .blend file" },
  ],
};

const PROGRAM = ["--command", "dq_compensation"];

function compileJob(job) {
  const settings = job.settings;
  const bakesKeys = settings.output_path.endsWith(".blend");
  const join = author.Task("join", "blender");
  const files = [];
  for (const chunk of frameChunker(settings.frames, settings.chunk_size)) {
    const frames = firstToLast(chunk);
    const file = path.join(settings.chunks_path, `${path.stem(settings.blendfile)} ${frames}.npz`);
    const task = author.Task(`frames ${frames}`, "blender");
    task.addCommand(blender([
      "evaluate", "--file", settings.blendfile, ...objectOptions(settings),
      `--frames=${frames}`, "--output", file,
      ...(bakesKeys ? ["--shape-keys-for", "LINEAR"] : []), "--skip-done",
    ]));
    job.addTask(task);
    join.addDependency(task);
    files.push(file);
  }
  const keys = ["bake", "frames", "--file", settings.blendfile,
                "--tolerance", String(settings.tolerance), "--much-memory", "--skip-done",
                "--chunks", ...files, ...objectOptions(settings)];
  join.addCommand(blender([
    ...(bakesKeys ? keys : ["merge", ...files]),
    `--frames=${firstToLast(settings.frames)}`, "--output", settings.output_path,
  ]));
  job.addTask(join);
}

// Flamenco writes two frames as "9,10" and one as "9"; the command wants "9-10" and "9-9".
function firstToLast(frames) {
  const parts = frames.split(/[-,]/).map((part) => part.trim());
  const first = Number(parts[0]);
  const last = Number(parts[parts.length - 1]);
  if (parts.length > 2 || !(first <= last)) {
    throw `The frames ${frames} are not one range, as 1-250.`;
  }
  return `${first}-${last}`;
}

function objectOptions(settings) {
  const names = (settings.objects || "").split(",").map((name) => name.trim()).filter((name) => name);
  return names.length > 0 ? ["--object", ...names] : [];
}

function blender(args) {
  return author.Command("exec", { exe: "{blender}", args: PROGRAM.concat(args) });
}
