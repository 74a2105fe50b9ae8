// From object space to armature space, in which bones move, and back. The block `object_space`
// holds the three rows of either matrix and then (factor, 0, 0, 0).

vec3 armature_from_object(vec3 v)
{
  vec4 point = vec4(v, 1.0);
  return vec3(dot(object_space[0], point), dot(object_space[1], point), dot(object_space[2], point));
}

vec3 object_from_armature(vec3 v)
{
  vec4 point = vec4(v, 1.0);
  return vec3(dot(object_space[3], point), dot(object_space[4], point), dot(object_space[5], point));
}

float compensation_factor()
{
  return object_space[6].x;
}
