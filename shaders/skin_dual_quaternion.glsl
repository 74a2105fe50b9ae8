// DUAL_QUATERNION: dual quaternion linear blending (Kavan et al. 2008), and with COMPENSATE the
// compensation after it. Quaternions are (w, x, y, z).
// With BLEND, which needs SCALED, the result is taken back to linear skinning where `blend` is less
// than 1: there the bones' matrices are at hand, and where they take the vertex is known already.
// amounts: (how far to compensate, the rows of the two strongest bones packed like an influence);
// with MEASURE: (share of the compensation, the side of the joint and the joint packed likewise).
// Palette: rotation, dual part; with SCALED: rotation, the three rows of D.
// limbs: of each row of a pose (the posed direction of the bone's limb, how much it is straight).

#include "quaternion.glsl"
#include "palette.glsl"
#include "object_space.glsl"
#ifdef MEASURE
#  include "measured_compensation.glsl"
#elif defined(COMPENSATE)
#  include "compensation.glsl"
#endif

#ifdef COMPENSATE
vec4 limb_texel(int row)
{
  int place = instance_number() * instance_rows + row;
  return texelFetch(limbs, ivec2(place & 1023, place >> 10), 0);
}
#endif

// What the dual quaternions add up to, for the vertex v; moved_linearly only with BLEND.
struct Sums {
  vec3 v;
  vec4 real_part;
  vec4 dual_part;
  vec3 moved_linearly;
};

void add_influence(inout Sums sums, int bone, float weight, float weight_sum)
{
  vec4 rotation = bone_rotation(bone);
#ifdef SCALED
  int place = bone * PALETTE_STRIDE + PALETTE_MATRIX;
  // The rigid transform which rotates by `rotation` and takes v where D takes it: then scale needs
  // no matrix beside the dual quaternion, as in Blender's Preserve Volume.
  vec3 moved = transform_by_rows(palette_texel(place),
                                 palette_texel(place + 1),
                                 palette_texel(place + 2),
                                 vec4(sums.v, 1.0));
  vec3 translation = moved - rotate_vector(rotation, sums.v);
  vec4 dual = 0.5 * quaternion_product(vec4(0.0, translation), rotation);
#  ifdef BLEND
  sums.moved_linearly += weight * moved;
#  endif
#else
  vec4 dual = palette_texel(bone * PALETTE_STRIDE + PALETTE_DUAL);
#endif
  // The sign that agrees with the sum so far.
  float signed_weight = faces_away(rotation, sums.real_part, weight_sum) ? -weight : weight;
  sums.real_part += signed_weight * rotation;
  sums.dual_part += signed_weight * dual;
}

#include "influence_loop.glsl"
#if defined(SWINGS) || defined(TWISTS)
#  include "posed_limbs.glsl"
#endif
#ifdef SWINGS
#  include "swings.glsl"
#endif
#ifdef TWISTS
#  include "twists.glsl"
#endif

vec3 skinned(ivec2 texel, vec3 v, int place)
{
  Sums sums;
  sums.v = v;
  sums.real_part = sums.dual_part = vec4(0.0);
  sums.moved_linearly = vec3(0.0);
  add_influences(sums, place);
  float real_length = length(sums.real_part);
  vec3 moved = v;
  if (real_length > 0.0) {
    vec4 r = sums.real_part / real_length;
    vec4 e = sums.dual_part / real_length;
    moved = rotate_vector(r, v) + 2.0 * (r.x * e.yzw - e.x * r.yzw + cross(r.yzw, e.yzw));
  }
#ifdef MEASURE
  vec2 measured = texelFetch(amounts, texel, 0).xy;
  float share = measured.x * compensation_factor();
  if (share != 0.0) {
    moved -= share * measured_displacement(
        int(influence_weight(measured.y)), influence_bone(measured.y), v, moved);
  }
#  ifdef SWINGS
  moved += compensation_factor() * onto_chords(texel, moved);
#  endif
#elif defined(COMPENSATE)
  vec2 compensated = texelFetch(amounts, texel, 0).xy;
  float amount = compensated.x * compensation_factor();
  if (amount != 0.0) {
    int bone_1 = influence_bone(compensated.y);
    int bone_2 = int(influence_weight(compensated.y));
    vec4 limb_1 = limb_texel(bone_1);
    vec4 limb_2 = limb_texel(bone_2);
    moved += amount * limb_1.w * limb_2.w * compensation_offset(
        bone_rotation(bone_1), bone_rotation(bone_2), limb_1.xyz, limb_2.xyz);
  }
#endif
#ifdef TWISTS
  moved += along_limbs(texel, moved);
#endif
#ifdef BLEND
  moved = mix(sums.moved_linearly, moved, texelFetch(blend, texel, 0).x);
#endif
  return moved;
}

#include "skin_main.glsl"
