"""Files, streams, errors, progress, processes: what any program needs, and no model in particular."""
