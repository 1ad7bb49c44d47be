"""Pictures of theory."""
