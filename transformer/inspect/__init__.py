"""Looks into a trained model: attention, perplexity."""
