// SPDX-License-Identifier: GPL-3.0-or-later
// A job type for Flamenco 3.3 and newer: one command of DQ Compensation on many .blend files, a task
// for each. docs/farm.md explains it.

const JOB_TYPE = {
  label: "DQ Compensation: files",
  description: "Check, enable or bake the characters of many .blend files",
  settings: [
    { key: "folder", type: "string", subtype: "dir_path", required: true, visible: "submission",
      description: "Folder with the .blend files, on a disk that all workers share" },
    { key: "pattern", type: "string", default: "*.blend", visible: "submission",
      description: "Which of its files, **/*.blend with the folders below" },
    { key: "files", type: "string", required: true, visible: "web",
      eval: "';'.join(sorted(str(p) for p in Path(bpy.path.abspath(settings.folder)).glob(settings.pattern)))",
      description: "The files, with ; between them" },
    { key: "command", type: "string", default: "check", required: true,
      choices: ["check", "enable", "disable", "evaluate", "bake pose", "bake frames",
                "bake correctives", "bake bones", "bake cache", "bake crowd", "report"],
      description: "What to do with each file" },
    { key: "objects", type: "string", default: "",
      description: "Names or patterns of mesh objects, or of crowds, with commas between them; a name with a comma in double quotes. Without any, all of them" },
    { key: "method", type: "string", default: "",
      choices: ["", "LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT",
                "SPHERICAL_JOINT_BY_EXAMPLE"],
      description: "How to deform. Empty, each object's own setting" },
    { key: "output", type: "string", subtype: "dir_path", default: "", visible: "submission",
      description: "Folder for the results, which have the names of the files. Empty, there are none" },
    { key: "output_path", type: "string", visible: "web", eval: "bpy.path.abspath(settings.output)",
      description: "The folder for the results" },
    { key: "options", type: "string", default: "",
      description: "More options of the command, with spaces between them; a value with spaces in double quotes" },
  ],
};

function compileJob(job) {
  const settings = job.settings;
  const files = words(settings.files, ";");
  if (files.length === 0) {
    throw `No file of ${settings.folder} fits ${settings.pattern}.`;
  }
  if (settings.output_path) {
    requireDifferentNames(files);
  }
  for (const file of files) {
    const task = author.Task(path.stem(file), "blender");
    task.addCommand(author.Command("exec", { exe: "{blender}", args: argumentsFor(file, settings) }));
    job.addTask(task);
  }
}

function argumentsFor(file, settings) {
  const args = ["--command", "dq_compensation", ...words(settings.command, " "), "--file", file];
  const objects = parts(settings.objects, ",");
  if (objects.length > 0) {
    args.push("--object", ...objects);
  }
  if (settings.method) {
    args.push("--method", settings.method);
  }
  if (settings.output_path) {
    args.push("--output", folder(settings.output_path), "--skip-done");
  }
  return args.concat(parts(settings.options, " "));
}

function requireDifferentNames(files) {
  const names = new Set();
  for (const file of files) {
    const name = path.basename(file);
    if (names.has(name)) {
      throw `Two files have the name ${name}, and would have one output. Make two jobs of them.`;
    }
    names.add(name);
  }
}

// A path that ends with a slash is a folder for the command, also before it exists.
function folder(name) {
  return /[\/\\]$/.test(name) ? name : name + "/";
}

// As words, but a separator between double quotes stays, and the quotes go.
function parts(text, separator) {
  const found = [""];
  let quoted = false;
  for (const sign of text || "") {
    if (sign === '"') {
      quoted = !quoted;
    } else if (sign === separator && !quoted) {
      found.push("");
    } else {
      found[found.length - 1] += sign;
    }
  }
  if (quoted) {
    throw `A quote is not closed: ${text}`;
  }
  return found.map((word) => word.trim()).filter((word) => word);
}

function words(text, separator) {
  return (text || "").split(separator).map((word) => word.trim()).filter((word) => word);
}
