"""`python -m gapless` is the `gapless` command."""

import sys

from gapless.cli import run

if __name__ == "__main__":
    sys.exit(run())
