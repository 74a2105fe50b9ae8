// What Flamenco Manager gives to job type scripts, as far as ours use it, and a job that keeps its
// tasks. Behaviour after Flamenco's documentation and its built-in scripts.
"use strict";

const author = {
  Task(name, type) {
    return {
      name, type, commands: [], dependencies: [],
      addCommand(command) { this.commands.push(command); },
      addDependency(task) { this.dependencies.push(task.name); },
    };
  },
  Command(name, parameters) { return { name, parameters }; },
};

const path = {
  basename: (file) => file.split(/[\/\\]/).pop(),
  stem: (file) => path.basename(file).replace(/\.[^.]*$/, ""),
  join: (...parts) => parts.join("/").replace(/\/+/g, "/"),
};

// "1-10" in fours is "1-4", "5-8", "9,10": two frames get a comma, one stands alone.
function frameChunker(frames, size) {
  const numbers = [];
  for (const part of frames.split(",")) {
    const [first, last] = part.split("-").map(Number);
    for (let frame = first; frame <= (last === undefined ? first : last); frame++) {
      numbers.push(frame);
    }
  }
  const chunks = [];
  for (let start = 0; start < numbers.length; start += size) {
    const chunk = numbers.slice(start, start + size);
    const [first, last] = [chunk[0], chunk[chunk.length - 1]];
    chunks.push(chunk.length > 2 ? `${first}-${last}` : chunk.join(","));
  }
  return chunks;
}

function print() {}

function compiledTasks(settings) {
  const job = { settings, tasks: [], addTask(task) { this.tasks.push(task); } };
  compileJob(job);
  return JSON.stringify(job.tasks);
}
