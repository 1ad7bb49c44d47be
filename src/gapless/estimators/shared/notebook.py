"""How a notebook shows an estimator: scikit-learn's diagram, and the certificate below it."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from sklearn import get_config


class Shown:
    """Stands before BaseEstimator. Nothing here raises, whatever the parameters and the certificate hold."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        if get_config()["display"] != "diagram":
            raise AttributeError(
                "_repr_html_ is only defined when the 'display' configuration option is set to 'diagram'"
            )
        return self._shown

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": _tried(lambda: repr(self), self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._shown()
        return bundle

    def _shown(self) -> str:
        """The diagram, then the block of the certificate where there is one."""
        return _tried(lambda: _diagram(self), self, plain=True) + _tried(lambda: _block(self), None)


def _diagram(model: Any) -> str:
    from sklearn.utils import estimator_html_repr

    return str(estimator_html_repr(model))


def _block(model: Any) -> str:
    """The certificate as it shows itself, else its sentence; nothing before a fit."""
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        return ""
    own = getattr(certificate, "_repr_html_", None)
    inside = _tried(own, None) if callable(own) else ""
    inside = inside or f"<p>{html.escape(str(certificate))}</p>"
    style = "margin:.5em 0;padding:.4em .8em;border-left:3px solid #0072b2;overflow-x:auto;font-size:.9em"
    return f'<div class="gapless-certificate" style="{style}"><strong>Certificate</strong>{inside}</div>'


def _tried(make: Callable[[], Any], model: Any, plain: bool = False) -> str:
    """What it makes; the bare name of the model (or nothing) where it fails: a notebook must show something."""
    try:
        return str(make())
    except Exception:
        name = "" if model is None else f"<{type(model).__name__}: its parameters cannot be shown>"
        return f"<pre>{html.escape(name)}</pre>" if plain else name
