// Studio light as in Blender's Solid shading: up to four lights, each a wrapped (soft) diffuse term
// and a Blinn highlight that widens into an environment as the light gets softer, over an ambient
// colour. Colours are linear.
// material: (metallic, roughness, 1 for flat shading, unused).

#include "view.glsl"

vec3 safe_normalize(vec3 v, vec3 otherwise)
{
  float size = length(v);
  return size > 0.0 ? v / size : otherwise;
}

// 1 / v, as roughly as Blender takes it (Drobot 2014): up to 12 % off, 7 % too dark for hard lamps.
// The exact reciprocal would show beside objects that Blender draws.
float rough_reciprocal(float v)
{
  return intBitsToFloat(0x7EEF370B - floatBitsToInt(v));
}

// Light that reaches around the edge of the shadow by `wrap`, with no more energy for it.
float wrapped_light(float cosine, float wrap)
{
  float reach = 1.0 + wrap;
  return clamp((cosine + wrap) * rough_reciprocal(reach * reach), 0.0, 1.0);
}

float highlight(vec3 light, float wrap, vec3 normal, vec3 eye, float roughness)
{
  vec3 half_way = safe_normalize(light + eye, normal);
  float gloss = (1.0 - roughness) * (1.0 - wrap);
  float shininess = exp2(10.0 * gloss + 1.0);
  float energy = 0.125 * shininess + 1.0;
  float blinn = energy * pow(clamp(dot(half_way, normal), 0.0, 1.0), shininess)
                * clamp(dot(light, normal), 0.0, 1.0);
  vec3 mirrored = reflect(-eye, normal);
  float environment = wrapped_light(dot(light, mirrored), mix(wrap, 1.0, roughness));
  return mix(blinn, environment, wrap * wrap);
}

void main()
{
  vec3 eye = is_orthographic() ? vec3(0.0, 0.0, 1.0)
                               : safe_normalize(-view_position, vec3(0.0, 0.0, 1.0));
  vec3 normal = view_normal;
  // A surface seen from behind shows its other side; a mirrored object's faces wind the other way.
  if (gl_FrontFacing == (mirrored != 0.0)) {
    normal = -normal;
  }
  if (material.z != 0.0 || dot(normal, normal) == 0.0) {
    normal = cross(dFdx(view_position), dFdy(view_position));
    normal = dot(normal, eye) < 0.0 ? -normal : normal;
  }
  normal = safe_normalize(normal, eye);
  float metallic = material.x;
  float roughness = material.y;
  bool has_highlights = view[20].w != 0.0;
  vec3 diffuse_colour = base_colour.rgb;
  vec3 specular_colour = vec3(0.0);
  if (has_highlights) {
    diffuse_colour = base_colour.rgb * (1.0 - metallic);
    specular_colour = mix(vec3(0.05), base_colour.rgb, metallic);
    float grazing = exp2(-8.35 * clamp(dot(normal, eye), 0.0, 1.0)) * (1.0 - roughness);
    specular_colour = mix(specular_colour, vec3(1.0), grazing);
  }
  vec3 diffuse_light = view[20].rgb;
  vec3 specular_light = view[20].rgb;
  for (int i = 0; i < 4; i++) {
    vec3 light = view[8 + i].xyz;
    float wrap = view[8 + i].w;
    diffuse_light += wrapped_light(dot(light, normal), wrap) * view[12 + i].rgb;
    if (has_highlights) {
      specular_light += highlight(light, wrap, normal, eye, roughness) * view[16 + i].rgb;
    }
  }
  // What is mirrored is not scattered.
  float scattered = 1.0 - dot(specular_colour, vec3(1.0 / 3.0));
  vec3 colour = diffuse_light * diffuse_colour * scattered + specular_light * specular_colour;
  fragment_colour = vec4(colour, base_colour.a);
}
