// The edges of the deformed mesh: gl_VertexID is the vertex.

#include "view.glsl"
#include "placements.glsl"

void main()
{
  ivec2 texel = ivec2(gl_VertexID & 1023, gl_VertexID >> 10);
  int instance = drawn_instance();
  texel.y += instance * mesh_rows;
  mat4 object_matrix = placement(instance);
  vec3 position = texelFetch(positions, texel, 0).xyz;
  gl_Position = projection_matrix() * (view_matrix() * (object_matrix * vec4(position, 1.0)));
  // A little nearer, so that the object's own surface does not swallow its edges.
  gl_Position.z -= depth_bias * gl_Position.w;
}
