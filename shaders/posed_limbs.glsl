// Points and directions of limbs in the pose, as the rows of a pose move them.

vec3 posed_joint(int row, vec3 head)
{
  int place = row * PALETTE_STRIDE;
#ifdef PALETTE_MATRIX
  place += PALETTE_MATRIX;
  return transform_by_rows(
      palette_texel(place), palette_texel(place + 1), palette_texel(place + 2), vec4(head, 1.0));
#else
  vec4 r = bone_rotation(row);
  vec4 e = palette_texel(place + PALETTE_DUAL);
  return rotate_vector(r, head) + 2.0 * (r.x * e.yzw - e.x * r.yzw + cross(r.yzw, e.yzw));
#endif
}

// A direction of a bone's limb in the pose; see `core.limb_joints`.
vec3 posed_axis(int row, vec3 axis)
{
#ifdef PALETTE_MATRIX
  int place = row * PALETTE_STRIDE + PALETTE_MATRIX;
  vec3 turned = transform_by_rows(
      palette_texel(place), palette_texel(place + 1), palette_texel(place + 2), vec4(axis, 0.0));
  float size = length(turned);
  return size >= SHORTEST_RAY ? turned / size : vec3(0.0);
#else
  return rotate_vector(bone_rotation(row), axis);
#endif
}
