// For MEASURED: the posed joints (dq_compensation/core/limb_joints.py: LimbJoints.posed), as
// `measured_compensation.glsl` reads them. One invocation for each joint of each instance.
// rest_joints: four texels for each: (head, row of the pose that moves the child's start), (along the
// child's limb, row that moves the parent's end), (back along the parent's limb, aside), (child, parent,
// 0, 0), both bones.

#include "items.glsl"
#include "posed_rows.glsl"

vec4 rest_joint(int joint, int part)
{
  return texelFetch(rest_joints, texel_of(4 * joint + part), 0);
}

#ifdef SCALED
vec3 scaled_vector(int row, vec3 v)
{
  int first = row * PALETTE_STRIDE + PALETTE_MATRIX;
  return transform_by_rows(
      palette_texel(first), palette_texel(first + 1), palette_texel(first + 2), vec4(v, 0.0));
}

// How thick the limb at a joint is scaled: the longest that a unit vector across it becomes.
float thickness(int joint)
{
  int row = int(rest_joint(joint, 0).w);
  vec3 along = rest_joint(joint, 1).xyz;
  vec3 least = abs(along.x) < 0.6 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0);
  vec3 across = normalize(cross(along, least));
  vec3 p = scaled_vector(row, across);
  vec3 q = scaled_vector(row, cross(along, across));
  float half_difference = 0.5 * (dot(p, p) - dot(q, q));
  float product = dot(p, q);
  float longest = sqrt(half_difference * half_difference + product * product);
  return sqrt(0.5 * (dot(p, p) + dot(q, q)) + longest);
}
#endif

// The direction of a limb: of points on it, where bones are scaled; see `core.limb_joints`.
vec3 posed_ray(int row, vec3 ray)
{
#ifdef SCALED
  vec3 turned = scaled_vector(row, ray);
  float long_ray = length(turned);
  return long_ray >= SHORTEST_RAY ? turned / long_ray : vec3(0.0);
#else
  return rotate_vector(bone_rotation(row), ray);
#endif
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int joint = item_number();
  if (joint >= joint_count) {
    return;
  }
  vec4 head = rest_joint(joint, 0);
  vec4 forth = rest_joint(joint, 1);
  vec4 back_aside = rest_joint(joint, 2);
  vec3 back = back_aside.xyz;
  ivec2 bones = ivec2(rest_joint(joint, 3).xy);
  int start = int(head.w);
  int end = int(forth.w);
  vec3 posed = posed_point(start, head.xyz);
  vec3 apart = posed - posed_point(end, head.xyz);
  vec3 posed_forth = posed_ray(start, forth.xyz);
  vec3 posed_back = posed_ray(end, back);
  float along = dot(apart, posed_back);
  float gap = length(apart - along * posed_back);
  gap = min(gap, 2.0 * gap - LOOSENED * abs(along));
  float size = 1.0;
#ifdef SCALED
  size = max(thickness(joint), thickness(bones.y));
#endif
  int place = (instance_number() * joint_count + joint) * JOINT_STRIDE;
  imageStore(joints, texel_of(place), vec4(posed, size));
  imageStore(joints, texel_of(place + 1), vec4(head.xyz, gap));
  vec3 turned = posed_ray(start, back) - posed_back;
  float swing = dot(turned, turned) + LEAST_TURN;
  turned = posed_ray(end, forth.xyz) - posed_forth;
  float lost = 1.0 - min(BENT_AS_TURNED * swing / (dot(turned, turned) + LEAST_TURN), 1.0);
  float held = (1.0 - back_aside.w * lost) * straightness(bones.x);
  imageStore(joints, texel_of(place + 2), vec4(forth.xyz, held));
  imageStore(joints,
             texel_of(place + 3),
             vec4(posed_forth, max(dot(apart, posed_forth), 0.0)));
  imageStore(joints, texel_of(place + 4), vec4(back, straightness(bones.y)));
  imageStore(joints,
             texel_of(place + 5),
             vec4(posed_back, max(dot(apart, posed_back), 0.0)));
}
