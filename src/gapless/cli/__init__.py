"""The `gapless` command. One short file a command; nothing heavy is imported before a command runs."""

from gapless.cli.app import app, main, run

__all__ = ["app", "main", "run"]
