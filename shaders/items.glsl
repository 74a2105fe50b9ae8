// Items of an array and where they are in a texture.

// The number of this invocation among those of its instance.
int item_number()
{
  return int(gl_GlobalInvocationID.y) * 1024 + int(gl_GlobalInvocationID.x);
}

ivec2 texel_of(int place)
{
  return ivec2(place & 1023, place >> 10);
}
