// The values of the shape keys of each instance that follow its pose: those that its take has, and the
// weights of example poses (dq_compensation/core/example_poses.py: ExamplePoses.alphas). One invocation
// for each key of each instance. Quaternions are (w, x, y, z).
// key_sources: for each key (source, place, pose, factor): 1: the row of `locals`, counted from the
// instance's first; 2: the place of an example bone in `examples` and the number of its pose.
// locals: as `interpolate_keys.glsl` writes them.
// examples: for each example bone
//   0  (bone, its parent or -1, number P of its poses, 1 where twists count)
//   1  (direction of its limb at rest, falloff)
// then for rest and each pose
//   0  (direction, 0)
//   1  rotation
//   2  and on: what its Gaussian adds to the weight of each pose, four to a texel.
// With linear weights the falloff is above 0, the kind of the joint; rest has (side of the limb, 0) first,
// and each pose the angles of its hat, then its azimuth and how far the hat reaches below and above it.

#include "items.glsl"
#include "quaternion.glsl"
#include "palette.glsl"
#include "pose_hats.glsl"

vec4 example_texel(int place)
{
  return texelFetch(examples, texel_of(place), 0);
}

float example_weight(int place, int pose)
{
  vec4 bone = example_texel(place);
  vec4 limb = example_texel(place + 1);
  int count = int(bone.z);
  int stride = 2 + ((count + 3) >> 2);
  vec4 own = bone_rotation(int(bone.x));
  vec4 parent = bone.y >= 0.0 ? bone_rotation(int(bone.y)) : vec4(1.0, 0.0, 0.0, 0.0);
  if (limb.w > 0.0) {
    int first = place + 2 + (pose + 1) * stride;
    return hat_weight(parent, own, limb.xyz, example_texel(place + 2).xyz, limb.w,
                      example_texel(first).xyz, example_texel(first + 1).xyz);
  }
  vec4 turned = quaternion_product(quaternion_conjugate(parent), own);
  vec3 direction = rotate_vector(turned, limb.xyz);
  float found = 0.0;
  float sum = 0.0;
  for (int each = 0; each < count; each++) {
    float weight = 0.0;
    for (int point = 0; point <= count; point++) {
      int first = place + 2 + point * stride;
      float apart = bone.w != 0.0 ?
                        2.0 * acos(min(abs(dot(example_texel(first + 1), turned)), 1.0)) :
                        acos(clamp(dot(example_texel(first).xyz, direction), -1.0, 1.0));
      weight += example_texel(first + 2 + (each >> 2))[each & 3] * exp(limb.w * apart * apart);
    }
    weight = clamp(weight, 0.0, 1.0);
    sum += weight;
    if (each == pose) {
      found = weight;
    }
  }
  return found / max(sum, 1.0);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int key = item_number();
  if (key >= key_count) {
    return;
  }
  int place = instance_number() * key_count + key;
  vec4 source = texelFetch(key_sources, texel_of(key), 0);
  float value;
  if (source.x == 1.0) {
    int row = instance_first_row + instance_number() * instance_rows + int(source.y);
    value = texelFetch(locals, texel_of(row * KEY_STRIDE + 1), 0).x;
  }
  else {
    value = source.w * example_weight(int(source.y), int(source.z));
  }
  imageStore(key_values, texel_of(place), vec4(value));
}
