// Shape keys: adds to every vertex the offsets of the keys that move it, times their values. Runs
// only when a value has changed. One invocation for each vertex.
// key_starts: place of the vertex's first offset; the next vertex's is the end of its own.
// key_offsets: xyz the offset in object space, w the number of the key.
// key_values: a uniform buffer, four values to a vec4.

void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  vec4 vertex_rest = texelFetch(basis, texel, 0);
  int vertex_number = texel.y * 1024 + texel.x;
  int next_number = vertex_number + 1;
  int start = int(texelFetch(key_starts, texel, 0).x);
  int end = int(texelFetch(key_starts, ivec2(next_number & 1023, next_number >> 10), 0).x);
  for (int place = start; place < end; place++) {
    vec4 offset = texelFetch(key_offsets, ivec2(place & 1023, place >> 10), 0);
    int key = int(offset.w);
    vertex_rest.xyz += key_values[key >> 2][key & 3] * offset.xyz;
  }
  imageStore(shaped, texel, vertex_rest);
}
