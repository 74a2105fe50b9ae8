// Many instances: the third number of an invocation is that of its instance. With LISTED it is the
// place in a list instead: of `listed`, from `list_start` on, with numbers of instances of which
// `list_first` is the first one here. main() calls find_instance() before all else.

int found_instance;

void find_instance(int place)
{
#ifdef LISTED
  place += list_start;
  place = int(texelFetch(listed, ivec2(place & 1023, place >> 10), 0).x) - list_first;
#endif
  found_instance = place;
}

int instance_number()
{
  return found_instance;
}
