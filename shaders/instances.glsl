// Many instances of one mesh: the third number of an invocation is that of its instance.
// instance_first_row: the first row of the palettes that is of these instances; instance_rows: how
// many rows each of them has.

int instance_number()
{
  return int(gl_GlobalInvocationID.z);
}

int palette_start()
{
  return (instance_first_row + instance_number() * instance_rows) * PALETTE_STRIDE;
}
