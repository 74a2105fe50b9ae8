// The influences of a vertex, in the order in which Blender adds them up, four to a texel: each
// float carries 14 bits of bone and 16 bits of weight in the bits of an ordinary number (sign, six
// bits of exponent, mantissa), so that nothing on the way may flush it or take it for a NaN.
// The weights of a vertex sum to WEIGHT_SUM exactly; where the running sum reaches it, they end.

const float WEIGHT_UNIT = 1.0 / float(WEIGHT_SUM);

vec4 influence_texel(int place)
{
  return texelFetch(influences, ivec2(place & 1023, place >> 10), 0);
}

// The upper 14 of the 30 bits.
int influence_bone(float influence)
{
  uint bits = floatBitsToUint(influence);
  return int(((bits >> 16) & 0x1FFFu) | ((bits >> 18) & 0x2000u));
}

// The lower 16 of the 30 bits.
uint influence_weight(float influence)
{
  return floatBitsToUint(influence) & 0xFFFFu;
}
