// The points, in rest space, about which the vertices of SPHERICAL_JOINT rotate: the joint that a
// set of bones shares, else the centroid c of its joints plus the correction x that minimises
// the mean over pairs of |D_i r - D_j r|^2 + CENTRE_DAMPING |x|^2 (Kavan and Zara 2005, damped).
// One invocation for each set of bones. Quaternions are (w, x, y, z).
// joint_sets: two texels for each set: its centroid, and (place of its first bone, number of bones;
// 0 for a set that meets in one joint).
// Palette: rotation, the three rows of D.

#include "palette.glsl"

int set_bone(int place)
{
  return int(texelFetch(joint_bones, ivec2(place & 1023, place >> 10), 0).x);
}

// The bone's 3x3 part, as its three rows, and where it takes the centroid.
void read_bone(int bone, vec3 joint_point, out mat3 rows, out vec3 posed)
{
  int first_row = bone * PALETTE_STRIDE + PALETTE_MATRIX;
  vec4 row_x = palette_texel(first_row);
  vec4 row_y = palette_texel(first_row + 1);
  vec4 row_z = palette_texel(first_row + 2);
  rows = mat3(row_x.xyz, row_y.xyz, row_z.xyz);
  posed = transform_by_rows(row_x, row_y, row_z, vec4(joint_point, 1.0));
}

// Solves the symmetric, positive definite system: m x = g, by its Cholesky factor.
vec3 solve_positive(mat3 m, vec3 g)
{
  float l00 = sqrt(m[0][0]);
  float l10 = m[0][1] / l00;
  float l20 = m[0][2] / l00;
  float l11 = sqrt(max(m[1][1] - l10 * l10, 0.5 * CENTRE_DAMPING));
  float l21 = (m[1][2] - l20 * l10) / l11;
  float l22 = sqrt(max(m[2][2] - l20 * l20 - l21 * l21, 0.5 * CENTRE_DAMPING));
  float y0 = g.x / l00;
  float y1 = (g.y - l10 * y0) / l11;
  float y2 = (g.z - l20 * y0 - l21 * y1) / l22;
  float x2 = y2 / l22;
  float x1 = (y1 - l21 * x2) / l11;
  float x0 = (y0 - l10 * x1 - l20 * x2) / l00;
  return vec3(x0, x1, x2);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  int set = texel.y * 1024 + texel.x;
  int first_texel = 2 * set;
  ivec2 set_texel = ivec2(first_texel & 1023, first_texel >> 10);
  if (set >= set_count) {
    return;
  }
  set += instance_number() * set_count;
  texel = ivec2(set & 1023, set >> 10);
  vec4 joint = texelFetch(joint_sets, set_texel, 0);
  vec2 range = texelFetch(joint_sets, set_texel + ivec2(1, 0), 0).xy;
  int start = int(range.x);
  int count = int(range.y);
  if (count < 2) {
    imageStore(centres, texel, joint);
    return;
  }
  mat3 rows;
  vec3 posed;
  mat3 mean_rows = mat3(0.0);
  vec3 mean_posed = vec3(0.0);
  for (int i = 0; i < count; i++) {
    read_bone(set_bone(start + i), joint.xyz, rows, posed);
    mean_rows += rows;
    mean_posed += posed;
  }
  mean_rows *= 1.0 / float(count);
  mean_posed /= float(count);
  mat3 normal_matrix = mat3(0.0);
  vec3 gradient = vec3(0.0);
  for (int i = 0; i < count; i++) {
    read_bone(set_bone(start + i), joint.xyz, rows, posed);
    rows -= mean_rows;
    posed -= mean_posed;
    // `rows` has the rows of A_i in its columns: it is the transpose of A_i.
    normal_matrix += rows * transpose(rows);
    gradient -= rows * posed;
  }
  float per_pair = 2.0 / float(count - 1);
  normal_matrix = per_pair * normal_matrix + mat3(CENTRE_DAMPING);
  vec3 correction = solve_positive(normal_matrix, per_pair * gradient);
  imageStore(centres, texel, vec4(joint.xyz + correction, 0.0));
}
