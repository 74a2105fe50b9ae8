// The rotation that Blender's mat4_to_dquat takes for the rigid part of a matrix with a scale
// (dq_compensation/core/pose.py: _rigid_parts). The file that includes this defines `bone_texel`.

// v divided by its length; zero where it has none to speak of.
vec3 unit_or_zero(vec3 v)
{
  float size = length(v);
  return size > NO_LENGTH ? v / size : vec3(0.0);
}

vec3 turned_round(vec3 v)
{
  return v.yzx;
}

// The unit quaternion of a rotation matrix, w >= 0, by the longest row of 4 q q^T (Bar-Itzhack 2000).
vec4 quaternion_of(mat3 m)
{
  vec4 squares = vec4(1.0 + m[0][0] + m[1][1] + m[2][2],
                      1.0 + m[0][0] - m[1][1] - m[2][2],
                      1.0 - m[0][0] + m[1][1] - m[2][2],
                      1.0 - m[0][0] - m[1][1] + m[2][2]);
  vec3 differences = vec3(m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]);
  vec3 sums = vec3(m[1][2] + m[2][1], m[2][0] + m[0][2], m[0][1] + m[1][0]);
  vec4 q = vec4(squares.x, differences);
  float largest = squares.x;
  if (squares.y > largest) {
    largest = squares.y;
    q = vec4(differences.x, squares.y, sums.z, sums.y);
  }
  if (squares.z > largest) {
    largest = squares.z;
    q = vec4(differences.y, sums.z, squares.z, sums.x);
  }
  if (squares.w > largest) {
    q = vec4(differences.z, sums.y, sums.x, squares.w);
  }
  q = normalize(q);
  return q.x < 0.0 ? -q : q;
}

bool is_rotation(mat3 linear)
{
  mat3 gram = transpose(linear) * linear - mat3(1.0);
  vec3 worst = max(max(abs(gram[0]), abs(gram[1])), abs(gram[2]));
  return max(max(worst.x, worst.y), worst.z) <= NOT_ORTHONORMAL && determinant(linear) >= 0.0;
}

// linear: of D; bone: its place in `bones`.
vec4 rigid_rotation(mat3 linear, int bone)
{
  if (is_rotation(linear)) {
    return quaternion_of(linear);
  }
  // Transposed: its columns are the rows of A.
  mat3 rest_rows = mat3(bone_texel(bone, 2).xyz, bone_texel(bone, 3).xyz, bone_texel(bone, 4).xyz);
  mat3 posed = linear * transpose(rest_rows);
  vec3 x = posed[0];
  vec3 z = posed[2];
  vec3 y = unit_or_zero(posed[1]);
  bool x_exists = dot(x, x) >= NO_LENGTH * NO_LENGTH;
  vec3 new_z;
  if (x_exists && dot(y, x) < 1.0) {
    new_z = unit_or_zero(cross(x, y));
  }
  else if (!x_exists || dot(x, z) < 1.0) {
    new_z = cross(unit_or_zero(cross(y, z)), y);
  }
  else {
    new_z = cross(unit_or_zero(cross(y, turned_round(y))), y);
  }
  mat3 axes = all(equal(new_z, vec3(0.0))) ? mat3(1.0) : mat3(cross(y, new_z), y, new_z);
  return quaternion_of(axes * rest_rows);
}
