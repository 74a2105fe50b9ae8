// Khronos' validator of glTF: node validate_gltf.js FILE ...
//
// Prints JSON: [[whether it is an error, code], ...] for each file.
import { readFileSync } from "node:fs";
import validator from "gltf-validator";

const ERROR = 0;

const found = [];
for (const path of process.argv.slice(2)) {
  const { issues } = await validator.validateBytes(readFileSync(path), { maxIssues: 0 });
  if (issues.truncated) {
    throw new Error(`Too many issues in ${path}`);
  }
  found.push(issues.messages.map(({ severity, code }) => [severity === ERROR, code]));
}
console.log(JSON.stringify(found));
