"""What a sample says of where it was drawn from."""
