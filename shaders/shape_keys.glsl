// Shape keys: adds to every vertex the offsets of the keys that move it, times their values. Runs
// only when a value has changed. One invocation for each vertex of each instance.

#include "instances.glsl"
#include "shape_key_sum.glsl"

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel, 0);
  rest_vertex.xyz += shape_key_sum(texel);
  texel.y += instance_number() * mesh_rows;
  imageStore(shaped, texel, rest_vertex);
}
