"""Files that are read block by block, again and again: each format, and the copy on disk that spares reading texts twice."""
