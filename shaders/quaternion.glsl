// Quaternions are (w, x, y, z): the scalar is .x, the vector is .yzw; the same order as in Python.

// FACING_TOLERANCE and the other constants in capitals that no file declares come from Python.

// Whether the unit quaternion q has to change sign to blend the short way with `other`, which is
// about `size` long.
bool faces_away(vec4 q, vec4 other, float size)
{
  return dot(q, other) < -FACING_TOLERANCE * size;
}

vec4 quaternion_product(vec4 second, vec4 first)
{
  return vec4(second.x * first.x - dot(second.yzw, first.yzw),
              second.x * first.yzw + first.x * second.yzw + cross(second.yzw, first.yzw));
}

vec4 quaternion_conjugate(vec4 q)
{
  return vec4(q.x, -q.yzw);
}

// q: a unit quaternion.
vec3 rotate_vector(vec4 q, vec3 v)
{
  return v + 2.0 * cross(q.yzw, cross(q.yzw, v) + q.x * v);
}
