// The pass that skins: one invocation for each vertex. The file that includes this defines before
//     vec3 skinned(ivec2 texel, vec3 v, int place)
// for a vertex v, in armature space, whose influences begin at `place`. With MASK, `mask` says how far
// it goes from where it is at rest. With INSTANCED, the positions of each instance begin in the row of
// the texture after those of the one before; with SHAPE_KEYS its shape keys are applied here.

#ifdef SHAPE_KEYS
#  include "shape_key_sum.glsl"
#endif

void main()
{
#ifdef INSTANCED
  find_instance(int(gl_GlobalInvocationID.z));
#endif
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel, 0);
#ifdef SHAPE_KEYS
  rest_vertex.xyz += shape_key_sum(texel);
#endif
  vec3 moved = rest_vertex.xyz;
  // Negative: no bone moves it.
  if (rest_vertex.w >= 0.0) {
    vec3 v = armature_from_object(rest_vertex.xyz);
    moved = object_from_armature(skinned(texel, v, int(rest_vertex.w)));
#ifdef MASK
    moved = mix(rest_vertex.xyz, moved, texelFetch(mask, texel, 0).x);
#endif
  }
#ifdef INSTANCED
  texel.y += instance_number() * mesh_rows;
#endif
  imageStore(positions, texel, vec4(moved, 1.0));
}
