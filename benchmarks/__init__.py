"""Side-by-side measurements; never assertions about time."""
