// LINEAR: linear blend skinning. The matrices are blended first and the vertex transformed once.
// One invocation for each vertex. Palette: the three rows of D.

#include "palette.glsl"
#include "influences.glsl"
#include "object_space.glsl"

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel, 0);
  if (rest_vertex.w < 0.0) {
    // No bone moves it.
    imageStore(positions, texel, vec4(rest_vertex.xyz, 1.0));
    return;
  }
  vec4 row_x = vec4(0.0);
  vec4 row_y = vec4(0.0);
  vec4 row_z = vec4(0.0);
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
      total += share;
      float weight = float(share) * WEIGHT_UNIT;
      int first_row = influence_bone(four[slot]) * PALETTE_STRIDE;
      row_x += weight * palette_texel(first_row);
      row_y += weight * palette_texel(first_row + 1);
      row_z += weight * palette_texel(first_row + 2);
    }
  }
  vec4 v = vec4(armature_from_object(rest_vertex.xyz), 1.0);
  vec3 moved = transform_by_rows(row_x, row_y, row_z, v);
  imageStore(positions, texel, vec4(object_from_armature(moved), 1.0));
}
