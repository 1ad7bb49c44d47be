"""The sections of a page: each makes blocks of plain text, and no HTML."""
