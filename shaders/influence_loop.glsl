// The loop over a vertex's influences. The file that includes this defines before: `Sums`, a struct
// of what it adds up, and
//     void add_influence(inout Sums sums, int bone, float weight, float weight_sum)
// for one influence; weight_sum is that of the influences before it.

#include "influences.glsl"

void add_influences(inout Sums sums, int place)
{
  uint total = 0u;
  uint before = 1u;
  // Weights that were read wrong must not make it endless.
  while (total < WEIGHT_SUM && total != before) {
    before = total;
    vec4 four = influence_texel(place);
    place += 1;
    for (int slot = 0; slot < 4; slot++) {
      uint share = influence_weight(four[slot]);
      if (share == 0u) {
        break;
      }
      add_influence(
          sums, influence_bone(four[slot]), float(share) * WEIGHT_UNIT, float(total) * WEIGHT_UNIT);
      total += share;
    }
  }
}
