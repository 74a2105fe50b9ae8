// What every bone does in this frame: PALETTE_STRIDE vec4 for each row of the pose: the bones of the
// skeleton, then the segments of bendy bones. The texture holds the poses of many instances, and
// `palette_start()` is where that of this one begins. instance_first_row: the first row of the palettes
// that is of the instances of a mesh; instance_rows: how many rows each of them has.
// PALETTE_DUAL, PALETTE_MATRIX: the places of these parts in a row that has them; the rotation is first.
// Quaternions are (w, x, y, z).

#include "instances.glsl"

int palette_start()
{
  return (instance_first_row + instance_number() * instance_rows) * PALETTE_STRIDE;
}

vec4 palette_texel(int place)
{
  place += palette_start();
  return texelFetch(palettes, ivec2(place & 1023, place >> 10), 0);
}

// The bone's rotation (w, x, y, z), of the layouts that have one.
vec4 bone_rotation(int bone)
{
  return palette_texel(bone * PALETTE_STRIDE);
}

// The three rows of the bone's matrix D from `first_row` on; the fourth row is 0 0 0 1.
vec3 transform_by_rows(vec4 row_x, vec4 row_y, vec4 row_z, vec4 v)
{
  return vec3(dot(row_x, v), dot(row_y, v), dot(row_z, v));
}
