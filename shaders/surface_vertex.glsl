// The deformed surface: gl_VertexID is the normal group, whose position and normal the compute
// passes have written.

#include "view.glsl"
#include "placements.glsl"

void main()
{
  ivec2 group_texel = ivec2(gl_VertexID & 1023, gl_VertexID >> 10);
  int vertex_number = int(texelFetch(groups, group_texel, 0).x);
  ivec2 texel = ivec2(vertex_number & 1023, vertex_number >> 10);
  int instance = drawn_instance();
  texel.y += instance * mesh_rows;
  group_texel.y += instance * group_rows;
  mat4 object_matrix = placement(instance);
  vec3 position = texelFetch(positions, texel, 0).xyz;
  vec3 normal = texelFetch(normals, group_texel, 0).xyz;
  mat4 model_view = view_matrix() * object_matrix;
  vec4 view_point = model_view * vec4(position, 1.0);
  // Normals follow the cofactor matrix: no inverse, and right for any scale; a mirrored object's
  // turns them inwards, so its sign is undone.
  vec3 x = model_view[0].xyz;
  vec3 y = model_view[1].xyz;
  vec3 z = model_view[2].xyz;
  mat3 cofactors = mat3(cross(y, z), cross(z, x), cross(x, y));
  float handedness = dot(x, cofactors[0]) < 0.0 ? -1.0 : 1.0;
  view_normal = handedness * (cofactors * normal);
  view_position = view_point.xyz;
  mirrored = determinant(mat3(object_matrix)) < 0.0 ? 1.0 : 0.0;
  gl_Position = projection_matrix() * view_point;
}
