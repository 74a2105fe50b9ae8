// Plays a .glb file in three.js, without a picture: node play_three.js FILE OUT SECONDS ...
//
// OUT gets float32 triples in world space, Y up: the vertices at rest, then at each time.
import { readFileSync, writeFileSync } from "node:fs";
import { AnimationMixer, Vector3 } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const [path, out, ...seconds] = process.argv.slice(2);
const file = readFileSync(path);
const content = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
const { scene, animations } = await new GLTFLoader().parseAsync(content, "");
const meshes = [];
scene.traverse((object) => object.isSkinnedMesh && meshes.push(object));
if (meshes.length !== 1 || animations.length !== 1) {
  throw new Error(`${meshes.length} skinned meshes, ${animations.length} animations`);
}
const [mesh] = meshes;

const vertex = new Vector3();
const shown = () => {
  scene.updateMatrixWorld(true);
  return Array.from({ length: mesh.geometry.attributes.position.count }, (_, index) =>
    mesh.getVertexPosition(index, vertex).applyMatrix4(mesh.matrixWorld).toArray()
  ).flat();
};

mesh.morphTargetInfluences?.fill(0);
const found = [shown()];
const mixer = new AnimationMixer(scene);
const action = mixer.clipAction(animations[0]).play();
for (const time of seconds) {
  action.time = Number(time);
  mixer.update(0);
  found.push(shown());
}
writeFileSync(out, Float32Array.from(found.flat()));
