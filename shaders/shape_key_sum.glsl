// The sum of some shape keys' offsets at a vertex, times their values.
// key_starts: place of the vertex's first offset; the next vertex's is the end of its own. There is one more
// than there are pixels in the rows of the vertices.
// key_offsets: xyz the offset in object space, w the number of the key among these.
// key_values: `key_count` values for each instance.

float key_value(int key)
{
  int place = instance_number() * key_count + key;
  return texelFetch(key_values, ivec2(place & 1023, place >> 10), 0).x;
}

vec3 shape_key_sum(ivec2 texel)
{
  int next_number = texel.y * 1024 + texel.x + 1;
  int start = int(texelFetch(key_starts, texel, 0).x);
  int end = int(texelFetch(key_starts, ivec2(next_number & 1023, next_number >> 10), 0).x);
  vec3 sum = vec3(0.0);
  for (int place = start; place < end; place++) {
    vec4 offset = texelFetch(key_offsets, ivec2(place & 1023, place >> 10), 0);
    sum += key_value(int(offset.w)) * offset.xyz;
  }
  return sum;
}
