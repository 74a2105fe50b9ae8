// The second pass of playback: the skinning transform of every row, D = B A^-1, with B the product of
// the transforms from its root down. One invocation for each row of each instance: it walks up to the
// root. With GIVEN it takes D from `matrices` instead: of poses that Blender has evaluated.
// Quaternions are (w, x, y, z).
// bones: BONE_STRIDE texels for each row of a skeleton:
//   0     rotation of the rest matrix A
//   1     (head at rest, parent; -1 for a root)
//   2..4  rows of A
//   5..7  rows of A^-1
// locals: as `interpolate_keys.glsl` writes them.
// palettes: as `palette.glsl` reads them; PALETTE_... are the places of the parts that are wanted.

#include "quaternion.glsl"
#include "instance_rows.glsl"

vec4 bone_texel(int bone, int part)
{
  return texelFetch(bones, texel_of(bone * BONE_STRIDE + part), 0);
}

#if defined(SCALED) || defined(GIVEN)
#  include "rigid_part.glsl"
#endif

// The transform v -> linear v + translation.
struct Affine {
  mat3 linear;
  vec3 translation;
};

// In Metal a plain struct has no such constructor.
Affine affine(mat3 linear, vec3 translation)
{
  Affine found;
  found.linear = linear;
  found.translation = translation;
  return found;
}

mat3 matrix_of(vec4 q)
{
  return mat3(rotate_vector(q, vec3(1.0, 0.0, 0.0)),
              rotate_vector(q, vec3(0.0, 1.0, 0.0)),
              rotate_vector(q, vec3(0.0, 0.0, 1.0)));
}

#ifdef GIVEN
Affine given_transform(int row)
{
  vec4 x = texelFetch(matrices, texel_of(3 * row), 0);
  vec4 y = texelFetch(matrices, texel_of(3 * row + 1), 0);
  vec4 z = texelFetch(matrices, texel_of(3 * row + 2), 0);
  return affine(transpose(mat3(x.xyz, y.xyz, z.xyz)), vec3(x.w, y.w, z.w));
}
#else
vec4 local_texel(int row, int part)
{
  return texelFetch(locals, texel_of(row * KEY_STRIDE + part), 0);
}
#endif

#if defined(SCALED) && !defined(GIVEN)
Affine local_transform(int row)
{
  mat3 linear = matrix_of(local_texel(row, 0));
  vec3 scale = local_texel(row, 2).xyz;
  linear[0] *= scale.x;
  linear[1] *= scale.y;
  linear[2] *= scale.z;
  return affine(linear, local_texel(row, 1).xyz);
}

Affine chained_transform(int first_row, int skeleton, int row)
{
  Affine moved = local_transform(first_row + row);
  int parent = int(bone_texel(skeleton + row, 1).w);
  while (parent >= 0) {
    Affine above = local_transform(first_row + parent);
    moved.translation = above.linear * moved.translation + above.translation;
    moved.linear = above.linear * moved.linear;
    parent = int(bone_texel(skeleton + parent, 1).w);
  }
  vec4 x = bone_texel(skeleton + row, 5);
  vec4 y = bone_texel(skeleton + row, 6);
  vec4 z = bone_texel(skeleton + row, 7);
  moved.translation += moved.linear * vec3(x.w, y.w, z.w);
  moved.linear = moved.linear * transpose(mat3(x.xyz, y.xyz, z.xyz));
  return moved;
}
#endif

void write(int row, int part, vec4 value)
{
  imageStore(palettes, texel_of(row * PALETTE_STRIDE + part), value);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int row = item_number();
  int instance = instance_number();
  vec4 place = instance_texel(instance, 0);
  if (row >= int(place.z)) {
    return;
  }
  int first_row = int(place.x);
  int skeleton = int(place.w);
#if defined(SCALED) || defined(GIVEN)
#  ifdef GIVEN
  Affine moved = given_transform(first_row + row);
#  else
  Affine moved = chained_transform(first_row, skeleton, row);
#  endif
  vec4 rotation = rigid_rotation(moved.linear, skeleton + row);
  vec3 translation = moved.translation;
#else
  vec4 rotation = local_texel(first_row + row, 0);
  vec3 translation = local_texel(first_row + row, 1).xyz;
  vec4 rest = bone_texel(skeleton + row, 1);
  vec3 head = rest.xyz;
  int parent = int(rest.w);
  while (parent >= 0) {
    vec4 above = local_texel(first_row + parent, 0);
    translation = rotate_vector(above, translation) + local_texel(first_row + parent, 1).xyz;
    rotation = quaternion_product(above, rotation);
    parent = int(bone_texel(skeleton + parent, 1).w);
  }
  rotation = normalize(
      quaternion_product(rotation, quaternion_conjugate(bone_texel(skeleton + row, 0))));
  translation -= rotate_vector(rotation, head);
  if (rotation.x < 0.0) {
    rotation = -rotation;
  }
#endif
  write(first_row + row, 0, rotation);
#ifdef PALETTE_DUAL
  write(first_row + row, PALETTE_DUAL, 0.5 * quaternion_product(vec4(0.0, translation), rotation));
#endif
#ifdef PALETTE_MATRIX
#  if !defined(SCALED) && !defined(GIVEN)
  Affine moved = affine(matrix_of(rotation), translation);
#  endif
  mat3 rows = transpose(moved.linear);
  write(first_row + row, PALETTE_MATRIX, vec4(rows[0], moved.translation.x));
  write(first_row + row, PALETTE_MATRIX + 1, vec4(rows[1], moved.translation.y));
  write(first_row + row, PALETTE_MATRIX + 2, vec4(rows[2], moved.translation.z));
#endif
}
