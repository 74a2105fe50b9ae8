// The pass that skins: one invocation for each vertex. The file that includes this defines before
//     vec3 skinned(ivec2 texel, vec3 v, int place)
// for a vertex v, in armature space, whose influences begin at `place`. With MASK, `mask` says how far
// it goes from where it is at rest. The positions of each instance begin in the row of the texture after
// those of the one before. rest_rows: likewise of the rest positions; 0 where instances share them. With
// SHAPE_KEYS the keys whose values follow the pose are applied here.

#ifdef SHAPE_KEYS
#  include "shape_key_sum.glsl"
#endif

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 rest_vertex = texelFetch(rest, texel + ivec2(0, instance_number() * rest_rows), 0);
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
  texel.y += instance_number() * mesh_rows;
  imageStore(positions, texel, vec4(moved, 1.0));
}
