"""How much the lab takes from a visitor; more is refused with a sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabLimits:
    points: int = 2000
    #: Bytes of an uploaded file.
    file_bytes: int = 512 * 1024
    #: Bytes of one message without files.
    plain_bytes: int = 256 * 1024
    #: Seconds for one answer, compiling apart; the fits of a scene have shorter limits of their own.
    answer_seconds: float = 30.0
    #: Characters of the shortest password.
    password_characters: int = 8

    @property
    def base64_characters(self) -> int:
        """Of an uploaded file."""
        return 4 * (self.file_bytes // 3 + 1)

    @property
    def message_bytes(self) -> int:
        """Bytes of one message: a table and a model file in base64, and all else."""
        return self.plain_bytes + 2 * self.base64_characters


LIMITS = LabLimits()
