"""Ctrl-C while ``python -m gapless.judge`` loads its modules ends the process by the signal.

numpy makes an ImportError of one that comes while it is loaded, and the exit code would be 1: that a claim is false.
"""

import signal
import sys

loads = sys.argv[:1] == ["-m"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if loads:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def over() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again."""
    if loads:
        signal.signal(signal.SIGINT, signal.default_int_handler)
