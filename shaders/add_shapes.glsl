// Adds the offsets of solved shapes to deformed vertices. One invocation for each vertex of each instance that
// any shape may move.
// moved_vertices: (vertex, place of its first entry, number of entries, 0).
// shape_entries: for each block of a vertex (place of its weights in `shape_weights`, number of shapes,
// place of the first offset, how far the offset of the next shape is from it).
// shape_offsets: (offset, 0), along the axes of the armature where the turn is none, scaled by what is
// painted.
// shape_weights: weight_count texels for each instance, see `shape_weights.glsl`.
// by_factor: 1 where the factor of the compensation scales them, else 0.

#include "items.glsl"
#include "quaternion.glsl"
#include "instances.glsl"
#include "object_space.glsl"

vec4 weight_texel(int place)
{
  return texelFetch(shape_weights, texel_of(instance_number() * weight_count + place), 0);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int number = item_number();
  if (number >= moved_count) {
    return;
  }
  vec4 moved = texelFetch(moved_vertices, texel_of(number), 0);
  vec3 sum = vec3(0.0);
  bool acts = false;
  for (int each = 0; each < int(moved.z); each++) {
    vec4 entry = texelFetch(shape_entries, texel_of(int(moved.y) + each), 0);
    int place = int(entry.x);
    vec4 turn = weight_texel(place);
    float size = length(turn);
    if (size > 0.0) {
      vec3 blended = vec3(0.0);
      for (int shape = 0; shape < int(entry.y); shape++) {
        float weight = weight_texel(place + 1 + shape).x;
        if (weight > 0.0) {
          int offset = int(entry.z) + shape * int(entry.w);
          blended += weight * texelFetch(shape_offsets, texel_of(offset), 0).xyz;
        }
      }
      sum += size * rotate_vector(turn / size, blended);
      acts = true;
    }
  }
  if (acts) {
    sum *= by_factor != 0 ? compensation_factor() : 1.0;
    ivec2 texel = texel_of(int(moved.x));
    texel.y += instance_number() * mesh_rows;
    vec3 offset = vec3(dot(object_space_texel(3).xyz, sum),
                       dot(object_space_texel(4).xyz, sum),
                       dot(object_space_texel(5).xyz, sum));
    imageStore(positions, texel, vec4(imageLoad(positions, texel).xyz + offset, 1.0));
  }
}
