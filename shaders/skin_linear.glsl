// LINEAR: linear blend skinning. The matrices are blended first and the vertex transformed once.
// Palette: the three rows of D.

#include "palette.glsl"
#include "object_space.glsl"

// The rows of the blended matrix.
struct Sums {
  vec4 row_x;
  vec4 row_y;
  vec4 row_z;
};

void add_influence(inout Sums sums, int bone, float weight, float weight_sum)
{
  int first_row = bone * PALETTE_STRIDE + PALETTE_MATRIX;
  sums.row_x += weight * palette_texel(first_row);
  sums.row_y += weight * palette_texel(first_row + 1);
  sums.row_z += weight * palette_texel(first_row + 2);
}

#include "influence_loop.glsl"

vec3 skinned(ivec2 texel, vec3 v, int place)
{
  Sums sums;
  sums.row_x = sums.row_y = sums.row_z = vec4(0.0);
  add_influences(sums, place);
  return transform_by_rows(sums.row_x, sums.row_y, sums.row_z, vec4(v, 1.0));
}

#include "skin_main.glsl"
