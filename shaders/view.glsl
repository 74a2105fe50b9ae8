// The view and its lights, the same for every object of a region. The block `view` holds:
//   0..3    columns of the view matrix (world to view)
//   4..7    columns of the projection matrix
//   8..11   lights: xyz direction towards the light in view space, w wrap
//   12..15  lights: rgb diffuse colour
//   16..19  lights: rgb specular colour
//   20      rgb ambient colour, w 1 where highlights are wanted

mat4 view_matrix()
{
  return mat4(view[0], view[1], view[2], view[3]);
}

mat4 projection_matrix()
{
  return mat4(view[4], view[5], view[6], view[7]);
}

bool is_orthographic()
{
  return view[7].w != 0.0;
}
