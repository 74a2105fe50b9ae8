// Where instances are: `placements` has the three rows of the matrix of each from object to world.
// gl_InstanceID is the instance, counted from `first_instance`. With LISTED it is the place in a list
// (`instances.glsl`), and placements, of all instances of all meshes, are from the space in which
// `figure_from_object` places this mesh.

#ifdef LISTED
#  include "instances.glsl"
#endif

int drawn_instance()
{
#ifdef LISTED
  find_instance(gl_InstanceID);
  return instance_number();
#else
  return first_instance + gl_InstanceID;
#endif
}

mat4 placement(int instance)
{
#ifdef LISTED
  int place = 3 * (list_first + instance);
#else
  int place = 3 * instance;
#endif
  mat4 rows = mat4(1.0);
  for (int row = 0; row < 3; row++) {
    rows[row] = texelFetch(placements, ivec2((place + row) & 1023, (place + row) >> 10), 0);
  }
#ifdef LISTED
  return transpose(rows) * figure_from_object;
#else
  return transpose(rows);
#endif
}
