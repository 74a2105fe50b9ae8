// The colour of a share of 0 to 1, a little darker where the surface turns away from the eye.
// colours: a uniform buffer, sRGB, evenly spaced; 10 of them.

#include "view.glsl"

const int LAST_COLOUR = 9;
// What is left of the light at the silhouette: the form shows, and the colours can be told.
const float AT_EDGE = 0.6;

vec3 linear_from_srgb(vec3 colour)
{
  vec3 low = colour / 12.92;
  vec3 high = pow((colour + 0.055) / 1.055, vec3(2.4));
  return mix(low, high, step(vec3(0.04045), colour));
}

void main()
{
  vec3 eye = is_orthographic() ? vec3(0.0, 0.0, 1.0) : -normalize(view_position);
  float size = length(view_normal);
  float facing = size > 0.0 ? abs(dot(view_normal, eye)) / size : 1.0;
  float place = clamp(share, 0.0, 1.0) * float(LAST_COLOUR);
  int stop = min(int(place), LAST_COLOUR - 1);
  vec3 colour = mix(colours[stop].rgb, colours[stop + 1].rgb, place - float(stop));
  fragment_colour = vec4(mix(AT_EDGE, 1.0, facing) * linear_from_srgb(colour), 1.0);
}
