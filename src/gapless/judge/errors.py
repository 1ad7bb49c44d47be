"""What the judge raises. Defined here because the judge imports nobody; ``gapless.errors`` shows them again."""

from __future__ import annotations


class CertificateError(ValueError):
    """The certificate cannot be judged: other data, other weights, or a document that says nothing readable."""


class ModelFileError(ValueError):
    """The model file is damaged, forged, or of a version this reader does not know."""


class DataError(ValueError):
    """The data file cannot be read.

    Attributes
    ----------
    file, line, column : where
    """

    def __init__(
        self, message: str, file: str | None = None, line: int | None = None, column: int | str | None = None
    ) -> None:
        super().__init__(message, file, line, column)
        self.file, self.line, self.column = file, line, column

    def __str__(self) -> str:
        return str(self.args[0])
