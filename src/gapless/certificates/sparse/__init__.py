"""What a fit with a sparse or signed penalty claims."""
