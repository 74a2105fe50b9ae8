// Where instances are: `placements` has the three rows of the matrix of each from object to world.

mat4 placement(int instance)
{
  int place = 3 * instance;
  mat4 rows = mat4(1.0);
  for (int row = 0; row < 3; row++) {
    rows[row] = texelFetch(placements, ivec2((place + row) & 1023, (place + row) >> 10), 0);
  }
  return transpose(rows);
}
