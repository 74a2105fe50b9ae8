// Smooth normals of the deformed surface, in object space: for each normal group (the corners of a
// vertex that are shaded as one) the normals of their faces, weighted with the corners' angles.
// One invocation for each normal group.
// groups: (vertex, place of its first corner); the next group's first corner is the end of its own.
// The positions and normals of each instance begin in the row of their texture after those of the one
// before.
// fans: three numbers for each corner: the vertices before, after and across it in its face.

#include "instances.glsl"

int fan_vertex(int place)
{
  return int(texelFetch(fans, ivec2(place & 1023, place >> 10), 0).x);
}

vec3 position_of(int vertex_number)
{
  ivec2 texel = ivec2(vertex_number & 1023, vertex_number >> 10);
  texel.y += instance_number() * mesh_rows;
  return texelFetch(positions, texel, 0).xyz;
}

// v divided by its length; zero where it has none.
vec3 safe_normalize(vec3 v)
{
  float size = length(v);
  return size > 0.0 ? v / size : vec3(0.0);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec2 group = texelFetch(groups, texel, 0).xy;
  if (group.x < 0.0) {
    return;  // past the last group
  }
  int next_number = texel.y * 1024 + texel.x + 1;
  int start = int(group.y);
  int end = int(texelFetch(groups, ivec2(next_number & 1023, next_number >> 10), 0).y);
  vec3 centre = position_of(int(group.x));
  vec3 sum = vec3(0.0);
  for (int place = start; place < end; place++) {
    vec3 previous = position_of(fan_vertex(3 * place));
    vec3 next = position_of(fan_vertex(3 * place + 1));
    vec3 opposite = position_of(fan_vertex(3 * place + 2));
    vec3 face = safe_normalize(cross(centre - opposite, next - previous));
    float cosine = dot(safe_normalize(previous - centre), safe_normalize(next - centre));
    sum += acos(clamp(cosine, -1.0, 1.0)) * face;
  }
  float size = length(sum);
  texel.y += instance_number() * group_rows;
  // A point without faces, or with no area, gets Z, as Blender gives it.
  imageStore(normals, texel, vec4(size > 0.0 ? sum / size : vec3(0.0, 0.0, 1.0), 0.0));
}
