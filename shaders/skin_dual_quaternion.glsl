// DUAL_QUATERNION: dual quaternion linear blending (Kavan et al. 2008), and with COMPENSATE the
// compensation after it. One invocation for each vertex. Quaternions are (w, x, y, z).
// With BLEND, which needs SCALED, the result is taken back to linear skinning where `blend` is less
// than 1: there the bones' matrices are at hand, and where they take the vertex is known already.
// amounts: (how far to compensate, the two strongest bones packed like an influence); with MEASURE:
// (share of the compensation, the joint's bone and the limb's packed likewise).
// Palette: rotation, dual part [, limb direction]; with SCALED: rotation, the three rows of D
// [, limb direction].

#include "quaternion.glsl"
#include "palette.glsl"
#include "influences.glsl"
#include "object_space.glsl"
#ifdef MEASURE
#  include "measured_compensation.glsl"
#elif defined(COMPENSATE)
#  include "compensation.glsl"
#endif

#ifdef SCALED
// Where the bone's matrix takes v.
vec3 moved_by_bone(int bone, vec3 v)
{
  int place = bone * PALETTE_STRIDE + 1;
  return transform_by_rows(
      palette_texel(place), palette_texel(place + 1), palette_texel(place + 2), vec4(v, 1.0));
}

// The dual part of the rigid transform which rotates by `rotation` and takes v where D takes it, to
// `moved`: then scale needs no matrix beside the dual quaternion, as in Blender's Preserve Volume.
vec4 dual_between(vec4 rotation, vec3 v, vec3 moved)
{
  vec3 translation = moved - rotate_vector(rotation, v);
  return 0.5 * quaternion_product(vec4(0.0, translation), rotation);
}
#endif

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel, 0);
  if (rest_vertex.w < 0.0) {
    // No bone moves it.
    imageStore(positions, texel, vec4(rest_vertex.xyz, 1.0));
    return;
  }
  vec3 v = armature_from_object(rest_vertex.xyz);
  vec4 real_part = vec4(0.0);
  vec4 dual_part = vec4(0.0);
#ifdef BLEND
  vec3 moved_linearly = vec3(0.0);
#endif
  int place = int(rest_vertex.w);
  uint total = 0u;
  uint before = 1u;
  while (total < WEIGHT_SUM && total != before) {
    before = total;
    vec4 four = influence_texel(place);
    place += 1;
    for (int slot = 0; slot < 4; slot++) {
      uint share = influence_weight(four[slot]);
      if (share == 0u) {
        break;
      }
      int bone = influence_bone(four[slot]);
      vec4 rotation = bone_rotation(bone);
      float weight = float(share) * WEIGHT_UNIT;
#ifdef SCALED
      vec3 moved_by_it = moved_by_bone(bone, v);
      vec4 dual = dual_between(rotation, v, moved_by_it);
#  ifdef BLEND
      moved_linearly += weight * moved_by_it;
#  endif
#else
      vec4 dual = palette_texel(bone * PALETTE_STRIDE + 1);
#endif
      // The sign that agrees with the sum so far.
      if (faces_away(rotation, real_part, float(total) * WEIGHT_UNIT)) {
        weight = -weight;
      }
      total += share;
      real_part += weight * rotation;
      dual_part += weight * dual;
    }
  }
  float real_length = length(real_part);
  vec3 moved = v;
  if (real_length > 0.0) {
    vec4 r = real_part / real_length;
    vec4 e = dual_part / real_length;
    moved = rotate_vector(r, v) + 2.0 * (r.x * e.yzw - e.x * r.yzw + cross(r.yzw, e.yzw));
  }
#ifdef MEASURE
  vec2 measured = texelFetch(amounts, texel, 0).xy;
  float share = measured.x * compensation_factor();
  if (share != 0.0) {
    moved -= share * measured_displacement(
        influence_bone(measured.y), int(influence_weight(measured.y)), v, moved);
  }
#elif defined(COMPENSATE)
  vec2 compensated = texelFetch(amounts, texel, 0).xy;
  float amount = compensated.x * compensation_factor();
  if (amount != 0.0) {
    int bone_1 = influence_bone(compensated.y);
    int bone_2 = int(influence_weight(compensated.y));
    moved += amount * compensation_offset(
        bone_rotation(bone_1),
        bone_rotation(bone_2),
        palette_texel((bone_1 + 1) * PALETTE_STRIDE - 1).xyz,
        palette_texel((bone_2 + 1) * PALETTE_STRIDE - 1).xyz);
  }
#endif
#ifdef BLEND
  moved = mix(moved_linearly, moved, texelFetch(blend, texel, 0).x);
#endif
  imageStore(positions, texel, vec4(object_from_armature(moved), 1.0));
}
