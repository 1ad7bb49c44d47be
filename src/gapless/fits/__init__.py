"""The way of the data: encode, solve, certify, decode, one family a file."""
