// The first pass of playback: the transform of every bone against its parent, between the keys of a
// take, at the time of each instance. One invocation for each row of each instance.
// Quaternions are (w, x, y, z).
// tracks: for each row of a take (its first key, the number of its keys).
// key_frames: the frame of each key, from the take's first. keys: KEY_STRIDE texels for each: the
// rotation, (location, 0) and with SCALED (scale, 0); of a shape key (value, 0, 0) is the location.
// locals: likewise, one for each row.

#include "quaternion.glsl"
#include "instance_rows.glsl"

struct Local {
  vec4 rotation;
  vec3 location;
  vec3 scale;
};

// The time in a take, in frames from its first; repeated, or held at its ends.
float take_time(vec4 take, vec2 phase_speed)
{
  float time = phase_speed.x + phase_speed.y * (frame - take.w);
  float length_in_frames = take.y;
  if ((int(take.z) & 1) == 0) {
    return clamp(time, 0.0, length_in_frames);
  }
  return length_in_frames > 0.0 ? time - length_in_frames * floor(time / length_in_frames) : 0.0;
}

float key_frame(int key)
{
  return texelFetch(key_frames, texel_of(key), 0).x;
}

vec4 key_texel(int key, int part)
{
  return texelFetch(keys, texel_of(key * KEY_STRIDE + part), 0);
}

Local key_local(int key)
{
  Local found;
  found.rotation = key_texel(key, 0);
  found.location = key_texel(key, 1).xyz;
#ifdef SCALED
  found.scale = key_texel(key, 2).xyz;
#else
  found.scale = vec3(1.0);
#endif
  return found;
}

// From one rotation to the other by the short way, at an even speed.
vec4 slerp(vec4 from, vec4 to, float share)
{
  float cosine = dot(from, to);
  if (cosine < 0.0) {
    to = -to;
    cosine = -cosine;
  }
  vec2 weights = vec2(1.0 - share, share);
  if (cosine < ALIKE) {
    float angle = acos(cosine);
    weights = sin(weights * angle) / sin(angle);
  }
  return normalize(weights.x * from + weights.y * to);
}

Local blended(Local from, Local to, float share)
{
  Local found;
  found.rotation = slerp(from.rotation, to.rotation, share);
  found.location = mix(from.location, to.location, share);
  found.scale = mix(from.scale, to.scale, share);
  return found;
}

// The same by the normalised linear blend of dual quaternions (Kavan et al. 2008).
Local blended_dual(Local from, Local to, float share)
{
  vec4 other = dot(from.rotation, to.rotation) < 0.0 ? -to.rotation : to.rotation;
  vec4 real_part = mix(from.rotation, other, share);
  vec4 dual_part = 0.5 * mix(quaternion_product(vec4(0.0, from.location), from.rotation),
                             quaternion_product(vec4(0.0, to.location), other),
                             share);
  float size = length(real_part);
  vec4 r = real_part / size;
  vec4 e = dual_part / size;
  Local found;
  found.rotation = r;
  found.location = 2.0 * (r.x * e.yzw - e.x * r.yzw + cross(r.yzw, e.yzw));
  found.scale = mix(from.scale, to.scale, share);
  return found;
}

Local sampled(vec4 take, vec2 phase_speed, int row)
{
  float time = take_time(take, phase_speed);
  vec2 track = texelFetch(tracks, texel_of(int(take.x) + row), 0).xy;
  int first = int(track.x);
  int last = first + int(track.y) - 1;
  // The last key that is not after the time.
  int before = first;
  int behind = last;
  while (before < behind) {
    int middle = (before + behind + 1) >> 1;
    if (key_frame(middle) <= time) {
      before = middle;
    }
    else {
      behind = middle - 1;
    }
  }
  if (before == last) {
    return key_local(before);
  }
  float start = key_frame(before);
  float share = (time - start) / (key_frame(before + 1) - start);
  if (share <= 0.0) {
    return key_local(before);
  }
  Local from = key_local(before);
  Local to = key_local(before + 1);
  if ((int(take.z) & 2) != 0) {
    return blended_dual(from, to, share);
  }
  return blended(from, to, share);
}

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int row = item_number();
  int instance = instance_number();
  vec4 place = instance_texel(instance, 0);
  if (row >= int(place.y)) {
    return;
  }
  vec4 timing = instance_texel(instance, 2);
  vec4 second = instance_texel(instance, 3);
  float fade = 0.0;
  if (second.x >= 0.0) {
    // A fade of no frames is a cut.
    fade = timing.w > 0.0 ? clamp((frame - timing.z) / timing.w, 0.0, 1.0) : step(timing.z, frame);
  }
  Local found;
  if (fade < 1.0) {
    found = sampled(instance_texel(instance, 1), timing.xy, row);
    if (fade > 0.0) {
      found = blended(found, sampled(second, instance_texel(instance, 4).xy, row), fade);
    }
  }
  else {
    found = sampled(second, instance_texel(instance, 4).xy, row);
  }
  int first_texel = (int(place.x) + row) * KEY_STRIDE;
  imageStore(locals, texel_of(first_texel), found.rotation);
  imageStore(locals, texel_of(first_texel + 1), vec4(found.location, 0.0));
#ifdef SCALED
  imageStore(locals, texel_of(first_texel + 2), vec4(found.scale, 0.0));
#endif
}
