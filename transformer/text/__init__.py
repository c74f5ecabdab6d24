"""From text to sub-word ids and back."""
