"""What can be said of new rows."""
