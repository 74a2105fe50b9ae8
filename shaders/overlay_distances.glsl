// How far two deformations of one mesh are apart, in world units. One invocation for each vertex.

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec3 apart = texelFetch(positions, texel, 0).xyz - texelFetch(reference, texel, 0).xyz;
  imageStore(distances, texel, vec4(length(mat3(object_matrix) * apart)));
}
