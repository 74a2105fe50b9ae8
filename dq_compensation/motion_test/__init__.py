"""*Test Motion*: joints turn one after the other, on a copy in no file."""
