// Twists of limbs are spread along them (dq_compensation/core/twist_limbs.py derives it).
// twists: of each vertex TURNS times (a limb, -1 for none; its amounts for the twists at the beginning and
// the end, 0), a texel each.
// twist_limbs: three texels for each limb at rest: (head, row of the pose for its bone), (axis, row for
// the bone before it), (a unit vector across it, row for the bone behind it).

vec4 twist_limb(int place)
{
  return texelFetch(twist_limbs, ivec2(place & 1023, place >> 10), 0);
}

// How far the second row has turned against the first about an axis, radians.
float twist_between(int first, int second, vec3 x, vec3 y)
{
  vec3 first_x = posed_axis(first, x);
  vec3 first_y = posed_axis(first, y);
  vec3 second_x = posed_axis(second, x);
  vec3 second_y = posed_axis(second, y);
  vec2 turned = vec2(dot(first_x, second_x) + dot(first_y, second_y),
                     dot(first_y, second_x) - dot(first_x, second_y));
  float size = length(turned);
  return size > 0.0 ? atan(turned.y, turned.x) * smoothstep(0.0, 2.0 * SWUNG_FAR, size) : 0.0;
}

// How far a vertex turns. moved: after compensation, in armature space.
vec3 along_limbs(ivec2 texel, vec3 moved)
{
  vec3 offset = vec3(0.0);
  for (int slot = 0; slot < TURNS; slot++) {
    int turn_place = TURNS * (1024 * texel.y + texel.x) + slot;
    vec4 turn = texelFetch(twists, ivec2(turn_place & 1023, turn_place >> 10), 0);
    if (turn.x < 0.0) {
      break;
    }
    int place = 3 * int(turn.x);
    vec4 head = twist_limb(place);
    vec4 axis = twist_limb(place + 1);
    vec4 across = twist_limb(place + 2);
    vec3 y = cross(axis.xyz, across.xyz);
    int own = int(head.w);
    float angle = turn.y * twist_between(int(axis.w), own, across.xyz, y)
                  + turn.z * twist_between(own, int(across.w), across.xyz, y);
    angle *= twist_spread();
    vec3 about = posed_axis(own, axis.xyz);
    vec3 turned = cross(about, moved - posed_joint(own, head.xyz));
    offset += sin(angle) * turned + (1.0 - cos(angle)) * cross(about, turned);
  }
  return offset;
}
