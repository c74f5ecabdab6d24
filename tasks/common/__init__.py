"""What all stages and commands share: settings, paths, lines of text, the machine, Markdown."""
