// What Flamenco Manager gives to job type scripts, as far as ours use it, and a job that keeps its
// tasks. Behaviour after Flamenco's documentation and its built-in scripts.
"use strict";

const author = {
  Task(name, type) {
    return {
      name, type, commands: [],
      addCommand(command) { this.commands.push(command); },
    };
  },
  Command(name, parameters) { return { name, parameters }; },
};

const path = {
  basename: (file) => file.split(/[\/\\]/).pop(),
  stem: (file) => path.basename(file).replace(/\.[^.]*$/, ""),
};

function print() {}

function compiledTasks(settings) {
  const job = { settings, tasks: [], addTask(task) { this.tasks.push(task); } };
  compileJob(job);
  return JSON.stringify(job.tasks);
}
