// The colour of a share of 0 to 1. Where the surface turns away from the eye bright colours get
// darker and dark ones lighter, so that the form shows in either; where it faces the eye the colour
// is that of the legend.
// alpha: the opacity. colours: a uniform buffer, sRGB, evenly spaced; 10 of them.

#include "view.glsl"

const int LAST_COLOUR = 9;
// At the silhouette: what is left of the colour, and the grey that is added.
const float KEPT = 0.6;
const float ADDED = 0.06;

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
  float turned = 1.0 - facing;
  colour = mix(1.0, KEPT, turned) * linear_from_srgb(colour) + ADDED * turned * turned;
  fragment_colour = vec4(colour, alpha);
}
