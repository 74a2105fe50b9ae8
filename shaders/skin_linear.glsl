// LINEAR: linear blend skinning. The matrices are blended first and the vertex transformed once.
// One invocation for each vertex. Palette: the three rows of D.

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
  int first_row = bone * PALETTE_STRIDE;
  sums.row_x += weight * palette_texel(first_row);
  sums.row_y += weight * palette_texel(first_row + 1);
  sums.row_z += weight * palette_texel(first_row + 2);
}

#include "influence_loop.glsl"

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel, 0);
  if (rest_vertex.w < 0.0) {
    // No bone moves it.
    imageStore(positions, texel, vec4(rest_vertex.xyz, 1.0));
    return;
  }
  Sums sums;
  sums.row_x = sums.row_y = sums.row_z = vec4(0.0);
  add_influences(sums, int(rest_vertex.w));
  vec4 v = vec4(armature_from_object(rest_vertex.xyz), 1.0);
  vec3 moved = transform_by_rows(sums.row_x, sums.row_y, sums.row_z, v);
  imageStore(positions, texel, vec4(object_from_armature(moved), 1.0));
}
