// The page of `make demo-exports`: both glTF files of the human, side by side, in three.js. The
// files are put into the script, so that a browser opens the page without a server.
import {
  AnimationMixer,
  Color,
  DirectionalLight,
  HemisphereLight,
  MeshStandardMaterial,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import baked from "../../build/demo/baked.glb";
import plain from "../../build/demo/plain.glb";
import poses from "../../build/demo/poses.json";

const renderer = new WebGLRenderer({ antialias: true });
document.body.prepend(renderer.domElement);
const camera = new PerspectiveCamera(35);
const controls = new OrbitControls(camera, renderer.domElement);
const slider = document.getElementById("time");
const button = document.getElementById("play");
let playing = true;

async function character(content) {
  const file = await new GLTFLoader().parseAsync(content.buffer, "");
  const scene = new Scene();
  scene.background = new Color(0x1e1e1e);
  const sun = new DirectionalLight(0xffffff, 2);
  sun.position.set(1, 2, 1.5);
  scene.add(file.scene, new HemisphereLight(0xffffff, 0x404048, 1.5), sun);
  file.scene.traverse((object) => {
    if (!object.isSkinnedMesh) return;
    object.material = new MeshStandardMaterial({ color: 0xc8b8a8, roughness: 0.6 });
    object.frustumCulled = false; // its bounds are those of one pose
  });
  const mixer = new AnimationMixer(scene);
  mixer.clipAction(file.animations[0]).play();
  return { scene, mixer, duration: file.animations[0].duration };
}

function lookAt(target, distance) {
  controls.target.copy(target);
  camera.position.copy(target).add(new Vector3(0.7, 0.3, 0.8).setLength(distance));
}

function goTo({ joint, seconds }, sides) {
  playing = false;
  slider.value = seconds;
  for (const { scene, mixer } of sides) {
    mixer.setTime(seconds);
    scene.updateMatrixWorld(true);
  }
  lookAt(sides[0].scene.getObjectByName(joint).getWorldPosition(new Vector3()), 0.7);
}

function draw(sides) {
  const width = window.innerWidth / 2;
  renderer.setSize(window.innerWidth, window.innerHeight);
  renderer.setScissorTest(true);
  camera.aspect = width / window.innerHeight;
  camera.updateProjectionMatrix();
  for (const [index, { scene, mixer }] of sides.entries()) {
    mixer.setTime(Number(slider.value));
    renderer.setViewport(index * width, 0, width, window.innerHeight);
    renderer.setScissor(index * width, 0, width, window.innerHeight);
    renderer.render(scene, camera);
  }
}

async function main() {
  const sides = [await character(plain), await character(baked)];
  slider.max = sides[0].duration;
  slider.value = 0;
  slider.addEventListener("input", () => (playing = false));
  button.addEventListener("click", () => (playing = !playing));
  for (const pose of poses) {
    const choice = button.cloneNode();
    choice.textContent = pose.title;
    choice.addEventListener("click", () => goTo(pose, sides));
    button.form.append(choice);
  }
  lookAt(new Vector3(), 3.5);
  const opened = poses.find(({ key }) => location.hash === `#${key}`);
  if (opened) goTo(opened, sides);

  let before;
  renderer.setAnimationLoop((now) => {
    const passed = playing ? (now - (before ?? now)) / 1000 : 0;
    slider.value = (Number(slider.value) + passed) % slider.max;
    before = now;
    button.textContent = playing ? "Pause" : "Play";
    controls.update();
    draw(sides);
  });
}

main();
