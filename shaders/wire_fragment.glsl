// Edges in one linear colour.

void main()
{
  fragment_colour = wire_colour;
}
