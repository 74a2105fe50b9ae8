// Plays a .glb or .fbx file in three.js, without a picture: node play_three.js FILE OUT SECONDS ...
//
// OUT gets float32 triples in world space, metres, Y up: the vertices at rest, then at each time.
import { readFileSync, writeFileSync } from "node:fs";
import { AnimationMixer, Vector3 } from "three";
import { FBXLoader } from "three/addons/loaders/FBXLoader.js";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const [path, out, ...seconds] = process.argv.slice(2);
const file = readFileSync(path);
const content = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
const load = async () => {
  if (path.endsWith(".glb")) {
    return new GLTFLoader().parseAsync(content, "");
  }
  const scene = new FBXLoader().parse(content, "");
  // Lengths are in the file's unit, given in centimetres.
  scene.scale.setScalar(scene.userData.unitScaleFactor / 100);
  return { scene, animations: scene.animations };
};
const { scene, animations } = await load();
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

const shownAtRest = () => {
  if (path.endsWith(".glb")) {
    mesh.morphTargetInfluences?.fill(0);
    return shown();
  }
  // Here the bones are as they were when the file was saved.
  const { position } = mesh.geometry.attributes;
  scene.updateMatrixWorld(true);
  return Array.from({ length: position.count }, (_, index) =>
    vertex.fromBufferAttribute(position, index).applyMatrix4(mesh.matrixWorld).toArray()
  ).flat();
};

const found = [shownAtRest()];
const mixer = new AnimationMixer(scene);
const action = mixer.clipAction(animations[0]).play();
for (const time of seconds) {
  action.time = Number(time);
  mixer.update(0);
  found.push(shown());
}
writeFileSync(out, Float32Array.from(found.flat()));
