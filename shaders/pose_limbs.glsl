// For the published curves: the posed direction of the limb at each row of a pose, and how much it is
// straight. One invocation for each row of each instance.
// limb_directions: for each row (the direction at rest, its bone).

#include "items.glsl"
#include "posed_rows.glsl"

void main()
{
  find_instance(int(gl_GlobalInvocationID.z));
  int row = item_number();
  if (row >= instance_rows) {
    return;
  }
  vec4 limb = texelFetch(limb_directions, texel_of(row), 0);
  vec3 posed = rotate_vector(bone_rotation(row), limb.xyz);
  imageStore(limbs,
             texel_of(instance_number() * instance_rows + row),
             vec4(posed, straightness(int(limb.w))));
}
