// MEASURED compensation: skin that dual quaternions put too far from the limb is brought back
// (dq_compensation/core/measured_joints.py derives it). JOINT_STRIDE vec4 for each joint: (posed
// head, size), (head at rest, gap), then for the child's limb and the parent's each (ray at rest,
// straightness), (posed ray, reach).

vec4 joint_texel(int place)
{
  place += instance_number() * joint_count * JOINT_STRIDE;
  return texelFetch(joints, ivec2(place & 1023, place >> 10), 0);
}

// From the nearest point of a ray, which begins this far behind the joint.
vec3 from_ray(vec3 from_joint, vec3 ray, float reach)
{
  return from_joint - max(dot(from_joint, ray), -reach) * ray;
}

// joint: where the vertex bends; side: 0 if the child's limb is nearer, 1 if the parent's. v: at rest; moved: after dual
// quaternion skinning; both in armature space. The result points outwards and is to be multiplied
// by the vertex's amount.
vec3 measured_displacement(int joint, int side, vec3 v, vec3 moved)
{
  int place = joint * JOINT_STRIDE;
  vec4 posed_size = joint_texel(place);
  vec4 rest_gap = joint_texel(place + 1);
  vec4 ray = joint_texel(place + 2 + 2 * side);
  vec4 posed_ray = joint_texel(place + 3 + 2 * side);
  vec3 from_joint = v - rest_gap.xyz;
  float rest_distance = length(from_ray(from_joint, ray.xyz, 0.0));
  float max_correction = posed_size.w * max(0.0, length(from_joint) - rest_distance) + max(-rest_gap.w, 0.0);
  vec3 away = from_ray(moved - posed_size.xyz, posed_ray.xyz, posed_ray.w);
  float far = length(away);
  float too_far = min(far - posed_size.w * rest_distance - max(rest_gap.w, 0.0), max_correction);
  return too_far > 0.0 ? away * (ray.w * too_far / far) : vec3(0.0);
}
