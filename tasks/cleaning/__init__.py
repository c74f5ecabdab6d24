"""Which pairs of a corpus stay: rules, duplicates, languages, and the page that says what went."""
