"""From lines of text to blocks of sub-word ids, in several processes."""
