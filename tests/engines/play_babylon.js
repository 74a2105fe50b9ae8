// Plays a .glb file in Babylon.js, without a picture: node play_babylon.js FILE OUT SECONDS ...
//
// OUT gets float32 triples in world space, Y up: the vertices at rest, then at each time.
import { readFileSync, writeFileSync } from "node:fs";
import "@babylonjs/core/Animations/animatable.js";
import { NullEngine } from "@babylonjs/core/Engines/nullEngine.js";
import { LoadAssetContainerAsync } from "@babylonjs/core/Loading/sceneLoader.js";
import { Vector3 } from "@babylonjs/core/Maths/math.vector.js";
import { Scene } from "@babylonjs/core/scene.js";
import "@babylonjs/loaders/glTF/2.0/index.js";

// To the loader of glTF, whatever the rate of the file.
const FRAMES_PER_SECOND = 60;

const [path, out, ...seconds] = process.argv.slice(2);
const scene = new Scene(new NullEngine());
scene.useRightHandedSystem = true;
const file = await LoadAssetContainerAsync(readFileSync(path), scene, { pluginExtension: ".glb" });
const meshes = file.meshes.filter((mesh) => mesh.skeleton);
if (meshes.length !== 1 || file.animationGroups.length !== 1) {
  throw new Error(`${meshes.length} skinned meshes, ${file.animationGroups.length} animations`);
}
const [mesh] = meshes;
const [animation] = file.animationGroups;

const shown = (withShapes) => {
  mesh.skeleton.prepare(true);
  const positions = mesh.getPositionData(true, withShapes);
  const world = mesh.computeWorldMatrix(true);
  for (let index = 0; index < positions.length; index += 3) {
    const vertex = Vector3.FromArray(positions, index);
    Vector3.TransformCoordinates(vertex, world).toArray(positions, index);
  }
  return Array.from(positions);
};

file.addAllToScene();
const found = [shown(false)];
animation.start();
animation.pause();
for (const time of seconds) {
  animation.goToFrame(FRAMES_PER_SECOND * Number(time));
  found.push(shown(true));
}
writeFileSync(out, Float32Array.from(found.flat()));
