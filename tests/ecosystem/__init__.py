"""Other packages with our models, each tried with the real package: `make test-ecosystem`."""
