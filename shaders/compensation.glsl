// The displacement that takes away the bulge of dual quaternion skinning (Rudenko 2020).
// Quaternions are (w, x, y, z).

// rotation_1, rotation_2: unit quaternions of the two strongest bones; direction_1, direction_2: the
// posed unit directions of their limbs. The result is to be multiplied by the vertex's amount.
vec3 compensation_offset(vec4 rotation_1, vec4 rotation_2, vec3 direction_1, vec3 direction_2)
{
  if (dot(rotation_1, rotation_2) < 0.0) {
    rotation_2 = -rotation_2;
  }
  vec4 relative = quaternion_product(rotation_1, quaternion_conjugate(rotation_2));
  float sine = length(relative.yzw);
  vec3 bisector = direction_1 + direction_2;
  float bisector_length = length(bisector);
  if (sine < LEAST_SINE || bisector_length < LEAST_BISECTOR) {
    return vec3(0.0);
  }
  vec3 axis = relative.yzw / sine;
  bisector /= bisector_length;
  // 1 - w, written so that small angles keep their digits.
  float one_minus_w = sine * sine / (1.0 + relative.x);
  float bend = min(1.0, 2.0 * sqrt(one_minus_w));
  return bend * (bisector - axis * dot(axis, bisector));
}
