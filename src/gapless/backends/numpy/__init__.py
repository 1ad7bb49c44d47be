"""Problems whose verbs numpy computes: small data, without a compiled kernel."""
