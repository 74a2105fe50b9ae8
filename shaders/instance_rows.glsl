// Where the rows of an instance are. Instances are numbered over all characters; each has as many rows
// as its skeleton (bones, then the ends of segments) and as its take has shape keys.
// instances: INSTANCE_STRIDE texels for each:
//   0  (first row, number of rows, number of them that are of the skeleton, the skeleton's place in
//       `bones`)
//   1  take: (place of its first track, length in frames, flags, its first frame); flags: 1 where it
//       repeats, plus 2 where dual quaternions are between its keys
//   2  (phase in frames, speed, frame of the scene at which the second take begins to come in, the
//       frames that this takes)
//   3  second take, as texel 1; its place is -1 where there is none
//   4  (phase, speed) of the second take

#include "items.glsl"
#include "instances.glsl"

vec4 instance_texel(int instance, int part)
{
  int place = instance * INSTANCE_STRIDE + part;
  return texelFetch(instances, ivec2(place & 1023, place >> 10), 0);
}
