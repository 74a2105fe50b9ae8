"""What carries fixes out, and sees beforehand that they can be; knows no check."""
