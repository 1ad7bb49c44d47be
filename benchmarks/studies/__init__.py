"""One study a file: gapless against its peers on one family."""
