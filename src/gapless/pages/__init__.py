"""One fit, one page: everything that is known of a model, in a file that needs nothing else."""

from gapless.pages.report import Page, report

__all__ = ["Page", "report"]
