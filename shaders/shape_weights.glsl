// The weights of solved shapes, and the turns of their joints, in the pose of each instance
// (dq_compensation/core/solved_shapes.py derives it). One invocation for each block of each instance.
// Quaternions are (w, x, y, z).
// listed_poses: five texels for each listed pose: (row of the pose before the joint, row behind it, its
// kind, 0), (limb, 0), (its side, 0), (angles of the hat, 0), (azimuth, how far its hat reaches below and
// above, 0).
// blocks: for each block (place of its weights, number K of shapes, number of joints, place of the
// first of these texels) and, from there on, for each shape the rows of its listed poses, -1 for none.
// shape_weights: of each block, at the place of its weights, the turn of its joints, as long as it is
// large, zero where no shape acts; behind it K times (weight, 0, 0, 0).

#include "items.glsl"
#include "quaternion.glsl"
#include "palette.glsl"
#include "pose_hats.glsl"

vec4 pose_texel(int row, int part)
{
  return texelFetch(listed_poses, texel_of(5 * row + part), 0);
}

vec4 block_texel(int place)
{
  return texelFetch(blocks, texel_of(place), 0);
}

float pose_weight(int row)
{
  vec4 joint = pose_texel(row, 0);
  return hat_weight(bone_rotation(int(joint.x)), bone_rotation(int(joint.y)), pose_texel(row, 1).xyz,
                    pose_texel(row, 2).xyz, joint.z, pose_texel(row, 3).xyz, pose_texel(row, 4).xyz);
}

#ifdef SCALED
float row_size(int row)
{
  int first = row * PALETTE_STRIDE + PALETTE_MATRIX;
  vec3 x = palette_texel(first).xyz;
  vec3 y = palette_texel(first + 1).xyz;
  vec3 z = palette_texel(first + 2).xyz;
  return pow(abs(dot(x, cross(y, z))), 1.0 / 3.0);
}
#endif

// Half way between the rotations of the bones of a joint.
vec4 joint_turn(vec4 joint)
{
  vec4 before = bone_rotation(int(joint.x));
  vec4 behind = bone_rotation(int(joint.y));
  vec4 sum = dot(before, behind) < 0.0 ? before - behind : before + behind;
  return dot(sum, sum) > 0.0 ? normalize(sum) : before;
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int number = item_number();
  if (number >= block_count) {
    return;
  }
  vec4 block = block_texel(number);
  int place = instance_number() * weight_count + int(block.x);
  float most = 0.0;
  for (int shape = 0; shape < int(block.y); shape++) {
    vec4 rows = block_texel(int(block.w) + shape);
    float weight = 1.0;
    for (int joint = 0; joint < int(block.z); joint++) {
      if (weight > 0.0) {
        weight *= pose_weight(int(rows[joint]));
      }
    }
    most = max(most, weight);
    imageStore(shape_weights, texel_of(place + 1 + shape), vec4(weight, 0.0, 0.0, 0.0));
  }
  vec4 turn = vec4(0.0);
  if (most > 0.0) {
    vec4 rows = block_texel(int(block.w));
    vec4 first = vec4(0.0);
    float size = 0.0;
    for (int joint = 0; joint < int(block.z); joint++) {
      vec4 bones = pose_texel(int(rows[joint]), 0);
      vec4 each = joint_turn(bones);
      first = joint == 0 ? each : first;
      turn += dot(each, first) < 0.0 ? -each : each;
#ifdef SCALED
      size += 0.5 * (row_size(int(bones.x)) + row_size(int(bones.y)));
#else
      size += 1.0;
#endif
    }
    turn = (dot(turn, turn) > 0.0 ? normalize(turn) : first) * (size / block.z);
  }
  imageStore(shape_weights, texel_of(place), turn);
}
