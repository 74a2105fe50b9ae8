// The weight of a listed pose of a joint (dq_compensation/core/solved_shapes.py derives it: PoseHats).

const float PI = 3.14159265358979;

// before, behind: the rotations of the bones on either side. limb, side: of the joint at rest.
// kind: BALL, HINGE or ROTATES. angles: of the hat. way: its azimuth, how far it reaches below and above.
float hat_weight(vec4 before, vec4 behind, vec3 limb, vec3 side, float kind, vec3 angles, vec3 way)
{
  vec3 seen = rotate_vector(quaternion_conjugate(before), rotate_vector(behind, limb));
  vec3 third = cross(limb, side);
  float x = dot(seen, limb);
  float y = dot(seen, side);
  float z = dot(seen, third);
  if (kind == ROTATES) {
    vec4 between = quaternion_product(quaternion_conjugate(before), behind);
    float along = dot(between.yzw, third);
    x = between.x * between.x - along * along;
    y = 2.0 * between.x * along;
  }
  float fade = smoothstep(0.0, TURNED_ROUND, abs(dot(before, behind)));
  float angle;
  float azimuth = 0.0;
  if (kind == BALL) {
    float across = length(vec2(y, z));
    angle = atan(across, x);
    azimuth = across > 0.0 ? atan(z, y) : 0.0;
  }
  else {
    angle = x != 0.0 || y != 0.0 ? atan(y, x) : 0.0;
    fade *= smoothstep(0.0, OFF_PLANE, x * x + y * y) * smoothstep(0.0, FADE, PI - abs(angle));
  }
  float hat = min((angle - angles.x) / (angles.y - angles.x),
                  (angles.z - angle) / (angles.z - angles.y));
  float apart = azimuth - way.x;
  apart -= 2.0 * PI * floor(apart / (2.0 * PI) + 0.5);
  float beside = 1.0 - max(apart / way.z, -apart / way.y);
  return clamp(hat, 0.0, 1.0) * clamp(beside, 0.0, 1.0) * fade;
}
