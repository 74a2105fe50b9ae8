// SPHERICAL_JOINT: rotation by the blended quaternion about the centre of the joint that the
// vertex's bones share (Hejl 2004), or about their least-squares centre (Kavan and Zara 2005), which
// `joint_centres.glsl` writes before. Quaternions are (w, x, y, z).
// joint_of_vertex: (the vertex's set of bones, the bone whose quaternion the others' signs follow).
// Palette: rotation, the three rows of D.

#include "quaternion.glsl"
#include "palette.glsl"
#include "object_space.glsl"

// The blended rotation, and the rows of the blended matrix. The signs of the rotations follow
// `reference`; `scaled` is what the bones' scales make of `from_centre`, only with SCALED.
struct Sums {
  vec3 from_centre;
  vec4 reference;
  vec4 rotation;
  vec3 scaled;
  vec4 row_x;
  vec4 row_y;
  vec4 row_z;
};

void add_influence(inout Sums sums, int bone, float weight, float weight_sum)
{
  vec4 rotation = bone_rotation(bone);
  sums.rotation += (faces_away(rotation, sums.reference, 1.0) ? -weight : weight) * rotation;
  int first_row = bone * PALETTE_STRIDE + PALETTE_MATRIX;
  vec4 bone_x = palette_texel(first_row);
  vec4 bone_y = palette_texel(first_row + 1);
  vec4 bone_z = palette_texel(first_row + 2);
  sums.row_x += weight * bone_x;
  sums.row_y += weight * bone_y;
  sums.row_z += weight * bone_z;
#ifdef SCALED
  // The bone's scale alone, in rest space: what D does, with its rotation undone.
  vec3 turned = transform_by_rows(bone_x, bone_y, bone_z, vec4(sums.from_centre, 0.0));
  sums.scaled += weight * rotate_vector(quaternion_conjugate(rotation), turned);
#endif
}

#include "influence_loop.glsl"

vec3 skinned(ivec2 texel, vec3 v, int place)
{
  vec2 joint_and_bone = texelFetch(joint_of_vertex, texel, 0).xy;
  int joint = int(joint_and_bone.x);
  joint += instance_number() * set_count;
  vec3 centre = texelFetch(centres, ivec2(joint & 1023, joint >> 10), 0).xyz;
  vec3 from_centre = v - centre;
  Sums sums;
  sums.from_centre = from_centre;
  sums.reference = bone_rotation(int(joint_and_bone.y));
  sums.scaled = vec3(0.0);
  sums.rotation = sums.row_x = sums.row_y = sums.row_z = vec4(0.0);
  add_influences(sums, place);
#ifdef SCALED
  from_centre = sums.scaled;
#endif
  float rotation_length = length(sums.rotation);
  if (rotation_length > 0.0) {
    from_centre = rotate_vector(sums.rotation / rotation_length, from_centre);
  }
  return from_centre + transform_by_rows(sums.row_x, sums.row_y, sums.row_z, vec4(centre, 1.0));
}

#include "skin_main.glsl"
