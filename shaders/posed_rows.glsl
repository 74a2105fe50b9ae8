// What the rows of a pose do to points, and how straight limbs are (dq_compensation/core/limb_straightness.py:
// limb_straightness).
// bone_limbs: two texels for each bone at rest: (head, row of the pose that moves it), (tail, row).

#include "quaternion.glsl"
#include "palette.glsl"

vec3 posed_point(int row, vec3 point)
{
#ifdef PALETTE_MATRIX
  int first = row * PALETTE_STRIDE + PALETTE_MATRIX;
  return transform_by_rows(
      palette_texel(first), palette_texel(first + 1), palette_texel(first + 2), vec4(point, 1.0));
#else
  vec4 r = bone_rotation(row);
  vec4 e = palette_texel(row * PALETTE_STRIDE + PALETTE_DUAL);
  return rotate_vector(r, point) + 2.0 * (r.x * e.yzw - e.x * r.yzw + cross(r.yzw, e.yzw));
#endif
}

vec3 unit_or_none(vec3 v)
{
  float size = length(v);
  return size > 0.0 ? v / size : vec3(0.0);
}

float straightness(int bone)
{
  vec4 head = texelFetch(bone_limbs, texel_of(2 * bone), 0);
  vec4 tail = texelFetch(bone_limbs, texel_of(2 * bone + 1), 0);
  int start = int(head.w);
  int end = int(tail.w);
  if (start == end) {
    return 1.0;
  }
  vec3 chord = unit_or_none(tail.xyz - head.xyz);
  vec3 posed = unit_or_none(posed_point(end, tail.xyz) - posed_point(start, head.xyz));
  float cosine = min(dot(rotate_vector(bone_rotation(start), chord), posed),
                     dot(rotate_vector(bone_rotation(end), chord), posed));
  return smoothstep(CURVED, STRAIGHT, cosine);
}
