// Shape keys: adds to every vertex the offsets of the keys that move it, times their values. Runs
// only when a value has changed. One invocation for each vertex.

#include "shape_key_sum.glsl"

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 vertex_rest = texelFetch(basis, texel, 0);
  vertex_rest.xyz += shape_key_sum(texel);
  imageStore(shaped, texel, vertex_rest);
}
