// Where limbs leave the body their swing takes the skin along chords (dq_compensation/core/swing_joints.py
// derives it).
// swings: of each vertex SWINGS times a joint and its amount, packed like an influence, strongest first.
// swing_joints: two texels for each joint at rest: (head, row of the pose that moves the child's start),
// (along the child's limb, row that moves the parent's end).

vec4 swing_joint(int place)
{
  return texelFetch(swing_joints, ivec2(place & 1023, place >> 10), 0);
}

// How far a vertex goes on, to be multiplied by the factor. moved: after dual quaternion skinning and
// measured_displacement, in armature space.
vec3 onto_chords(ivec2 texel, vec3 moved)
{
  vec4 places = texelFetch(swings, texel, 0);
  vec3 offset = vec3(0.0);
  for (int slot = 0; slot < SWINGS; slot++) {
    uint amount = influence_weight(places[slot]);
    if (amount == 0u) {
      break;
    }
    int place = 2 * influence_bone(places[slot]);
    vec4 head = swing_joint(place);
    vec4 axis = swing_joint(place + 1);
    vec3 before = posed_axis(int(axis.w), axis.xyz);
    vec3 after = posed_axis(int(head.w), axis.xyz);
    float ahead = max(1.0 + dot(before, after), SWUNG_BACK);
    vec3 swing = cross(before, after) * inversesqrt(2.0 * ahead);
    vec3 away = moved - posed_joint(int(head.w), head.xyz);
    offset += float(amount) * cross(swing, cross(swing, away));
  }
  return offset * (2.0 * MOST_SWUNG * WEIGHT_UNIT);
}
