"""One script for each toolkit that translates beside ours, with our weights; run in the toolkit's own environment."""
