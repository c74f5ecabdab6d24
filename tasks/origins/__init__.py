"""Where the text of a corpus comes from: files, archives, hubs, treebanks, test sets, each read as pairs."""
