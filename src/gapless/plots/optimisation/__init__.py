"""Pictures of objectives and of what minimises them."""
