// The weights of solved shapes, and the turns of their joints, in the pose of each instance
// (dq_compensation/core/solved_shapes.py derives it). One invocation for each block of each instance.
// Quaternions are (w, x, y, z).
// listed_poses: five texels for each listed pose: (row of the pose before the joint, row behind it, 1 of a
// hinge, 0), (limb, 0), (its side, 0), (angles of the hat, 0), (azimuth, how far its hat reaches below and
// above, 0).
// blocks: for each block (place of its weights, number K of shapes, number of joints, place of the
// first of these texels) and, from there on, for each shape the rows of its listed poses, -1 for none.
// shape_weights: of each block, at the place of its weights, the turn of its joints, as long as it is
// large, zero where no shape acts; behind it K times (weight, 0, 0, 0).

#include "items.glsl"
#include "quaternion.glsl"
#include "palette.glsl"

const float PI = 3.14159265358979;

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
  vec4 before = bone_rotation(int(joint.x));
  vec4 behind = bone_rotation(int(joint.y));
  vec3 limb = pose_texel(row, 1).xyz;
  vec3 side = pose_texel(row, 2).xyz;
  vec3 seen = rotate_vector(quaternion_conjugate(before), rotate_vector(behind, limb));
  float x = dot(seen, limb);
  float y = dot(seen, side);
  float z = dot(seen, cross(limb, side));
  float fade = smoothstep(0.0, TURNED_ROUND, abs(dot(before, behind)));
  float angle;
  float azimuth = 0.0;
  if (joint.z != 0.0) {
    angle = x != 0.0 || y != 0.0 ? atan(y, x) : 0.0;
    fade *= smoothstep(0.0, OFF_PLANE, x * x + y * y) * smoothstep(0.0, FADE, PI - abs(angle));
  }
  else {
    float across = length(vec2(y, z));
    angle = atan(across, x);
    azimuth = across > 0.0 ? atan(z, y) : 0.0;
  }
  vec3 angles = pose_texel(row, 3).xyz;
  vec3 way = pose_texel(row, 4).xyz;
  float hat = min((angle - angles.x) / (angles.y - angles.x),
                  (angles.z - angle) / (angles.z - angles.y));
  float apart = azimuth - way.x;
  apart -= 2.0 * PI * floor(apart / (2.0 * PI) + 0.5);
  float beside = 1.0 - max(apart / way.z, -apart / way.y);
  return clamp(hat, 0.0, 1.0) * clamp(beside, 0.0, 1.0) * fade;
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
