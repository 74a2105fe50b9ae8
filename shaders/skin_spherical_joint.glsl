// SPHERICAL_JOINT: rotation by the blended quaternion about the centre of the joint that the
// vertex's bones share (Hejl 2004), or about their least-squares centre (Kavan and Zara 2005), which
// `joint_centres.glsl` writes before. One invocation for each vertex. Quaternions are (w, x, y, z).
// joint_of_vertex: (the vertex's set of bones, the bone whose quaternion the others' signs follow).
// Palette: rotation, the three rows of D.

#include "quaternion.glsl"
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
  vec2 joint_and_bone = texelFetch(joint_of_vertex, texel, 0).xy;
  int joint = int(joint_and_bone.x);
  vec3 centre = texelFetch(centres, ivec2(joint & 1023, joint >> 10), 0).xyz;
  vec3 from_centre = armature_from_object(rest_vertex.xyz) - centre;
  vec4 reference = bone_rotation(int(joint_and_bone.y));
  vec4 rotation_sum = vec4(0.0);
  vec3 scaled_sum = vec3(0.0);
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
      int bone = influence_bone(four[slot]);
      vec4 rotation = bone_rotation(bone);
      total += share;
      float weight = float(share) * WEIGHT_UNIT;
      rotation_sum += (faces_away(rotation, reference, 1.0) ? -weight : weight) * rotation;
      int first_row = bone * PALETTE_STRIDE + 1;
      vec4 bone_x = palette_texel(first_row);
      vec4 bone_y = palette_texel(first_row + 1);
      vec4 bone_z = palette_texel(first_row + 2);
      row_x += weight * bone_x;
      row_y += weight * bone_y;
      row_z += weight * bone_z;
#ifdef SCALED
      // The bone's scale alone, in rest space: what D does, with its rotation undone.
      vec3 turned = transform_by_rows(bone_x, bone_y, bone_z, vec4(from_centre, 0.0));
      scaled_sum += weight * rotate_vector(quaternion_conjugate(rotation), turned);
#endif
    }
  }
#ifdef SCALED
  from_centre = scaled_sum;
#endif
  float rotation_length = length(rotation_sum);
  if (rotation_length > 0.0) {
    from_centre = rotate_vector(rotation_sum / rotation_length, from_centre);
  }
  vec3 moved = from_centre + transform_by_rows(row_x, row_y, row_z, vec4(centre, 1.0));
  imageStore(positions, texel, vec4(object_from_armature(moved), 1.0));
}
