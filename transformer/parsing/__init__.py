"""Constituency parsing (section 6.3): trees out of translations."""
