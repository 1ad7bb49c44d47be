"""Every C, or many: `path`."""
