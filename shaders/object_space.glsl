// From object space to armature space, in which bones move, and back. The texture `object_space`
// holds the three rows of either matrix and then (factor, twist spread, 0, 0). space_stride: its texels for each
// instance; 0 where all share them.

vec4 object_space_texel(int part)
{
  int place = instance_number() * space_stride + part;
  return texelFetch(object_space, ivec2(place & 1023, place >> 10), 0);
}

vec3 armature_from_object(vec3 v)
{
  vec4 point = vec4(v, 1.0);
  return vec3(dot(object_space_texel(0), point), dot(object_space_texel(1), point), dot(object_space_texel(2), point));
}

vec3 object_from_armature(vec3 v)
{
  vec4 point = vec4(v, 1.0);
  return vec3(dot(object_space_texel(3), point), dot(object_space_texel(4), point), dot(object_space_texel(5), point));
}

float compensation_factor()
{
  return object_space_texel(6).x;
}

float twist_spread()
{
  return object_space_texel(6).y;
}
