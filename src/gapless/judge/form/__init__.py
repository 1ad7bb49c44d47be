"""The form of a document: its schema, the tests of its entries, the documents inside it."""
