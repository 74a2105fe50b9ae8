// The deformed surface in the colours of distances: gl_VertexID is the normal group.
// maximum: the distance at the upper end of the colours. lift: how far to move towards the eye, so
// that the surface that is drawn already does not swallow this one.

#include "view.glsl"

// Of normalised depth: some steps of its precision, which far away is coarser than the lift.
const float DEPTH_BIAS = 1e-6;

void main()
{
  ivec2 group_texel = ivec2(gl_VertexID & 1023, gl_VertexID >> 10);
  int vertex_number = int(texelFetch(groups, group_texel, 0).x);
  ivec2 texel = ivec2(vertex_number & 1023, vertex_number >> 10);
  mat4 model_view = view_matrix() * object_matrix;
  view_position = (model_view * vec4(texelFetch(positions, texel, 0).xyz, 1.0)).xyz;
  vec3 x = model_view[0].xyz;
  vec3 y = model_view[1].xyz;
  vec3 z = model_view[2].xyz;
  view_normal = mat3(cross(y, z), cross(z, x), cross(x, y))
                * texelFetch(normals, group_texel, 0).xyz;
  share = texelFetch(distances, texel, 0).x / maximum;
  // Along the line of sight, so that nothing moves on the screen.
  vec3 lifted = view_position;
  if (is_orthographic()) {
    lifted.z += lift;
  }
  else {
    float away = length(view_position);
    lifted *= max(away - lift, 0.5 * away) / max(away, 1e-30);
  }
  gl_Position = projection_matrix() * vec4(lifted, 1.0);
  gl_Position.z -= DEPTH_BIAS * gl_Position.w;
}
