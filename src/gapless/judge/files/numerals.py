"""Numbers as people write them in tables: 1,234.5, 1.234,5, $ -5, (5.00) €, 12%, 1 234 567, 1.5e3, 12.-."""

from __future__ import annotations

import math
import re

#: Signs that look like a blank, a minus or an apostrophe, or like nothing.
ALIKE = {ord(sign): " " for sign in "\u00a0\u202f\u2009\u2007\u2002\u2003\u200a"}
ALIKE |= {ord(sign): "-" for sign in "\u2212\u2012\u2013\u2014\ufe63\uff0d"}
ALIKE |= {ord(sign): "'" for sign in "\u2019\u2018\u00b4`\u02bc"}
ALIKE |= {0xFF05: "%", 0x200B: None, 0xFEFF: None}  # type: ignore[dict-item]
#: Signs of currencies, the longest first.
MONEY = (
    "sfr.", "usd", "eur", "gbp", "chf", "jpy", "inr", "cad", "aud", "nzd", "sek", "nok", "dkk", "pln", "czk", "huf",
    "brl", "zar", "cny", "rmb", "mxn", "try", "rub", "sgd", "hkd", "krw", "ils", "ron", "bgn", "us$", "sfr", "fr.",
    "kr.", "rs.", "r$", "a$", "c$", "fr", "kr", "zł", "kč", "ft", "rs", "dm",
    *"€$£¤¥₹₽₺₩₪₫฿₦₴₱¢",
)  # fmt: skip


def is_digits(text: str) -> bool:
    """Whether a text has no other sign than 0 to 9."""
    return frozenset("0123456789").issuperset(text)


def numeral(text: str, mark: str) -> float | None:
    """The number that a text writes with this decimal mark."""
    rest = " ".join(text.translate(ALIKE).split())
    if rest.startswith('="') and rest.endswith('"') and len(rest) > 2:
        rest = rest[2:-1].strip()
    rest = re.sub(r" ?[x×·*] ?10 ?(?:\^|\*\*) ?([-+]?[0-9]{1,3})", r"e\1", rest)
    rest = rest[:-2].rstrip(" ") if rest.endswith("/-") else rest
    around = _brackets(rest)
    brackets, rest = around is not None, rest if around is None else around
    signed, rest = _sign(rest)
    rest, before = money_sign(rest, front=True)
    rest = rest.removeprefix(" ")
    second, rest = _sign(rest)
    minus = [signed, second].count("-")
    if signed and second:
        return None
    rest, after = (rest[:-1], "%") if rest.endswith("%") else money_sign(rest, front=False)
    if before and after not in ("", "%"):
        return None
    rest = rest.removesuffix(" ") if after else rest
    strokes = len(rest) - len(rest.rstrip("-"))
    if strokes > 2:
        return None
    if strokes:
        rest = rest[:-strokes]
        whole_price = rest.rstrip(" ")[-1:] in (".", ",")
        if not whole_price and (strokes == 2 or signed or second or brackets):
            return None
        minus += not whole_price
    if brackets and minus:
        return None
    if strokes and "e" in rest.lower():
        return None
    value = _value(rest, mark)
    return None if value is None else -value if brackets or minus else value


def _brackets(text: str) -> str | None:
    """(5.00), $ (5.00) and (5.00) € without their brackets; None where there are none."""
    opened, closed = text.find("("), text.rfind(")")
    if opened < 0 or closed < opened:
        return None
    before, inside = text[:opened].removesuffix(" "), text[opened + 1 : closed].strip()
    after = text[closed + 1 :].removeprefix(" ")
    if not inside or any(
        sign and money_sign(sign, True) != ("", sign.lower()) for sign in (before, after.removesuffix("%"))
    ):
        return None
    return before + inside + after


def _sign(text: str) -> tuple[str, str]:
    return (text[0], text[1:].removeprefix(" ")) if text[:1] in ("-", "+") else ("", text)


def money_sign(text: str, front: bool) -> tuple[str, str]:
    """A text without the sign of a currency in front or behind, and the sign."""
    lower = text.lower()
    if len(lower) != len(text):
        return text, ""
    for sign in MONEY:
        if lower.startswith(sign) if front else lower.endswith(sign):
            return (text[len(sign) :], sign) if front else (text[: -len(sign)], sign)
    return text, ""


def _value(body: str, mark: str) -> float | None:
    """Digits with marks, and perhaps an exponent."""
    mantissa, e, power = body.lower().partition("e")
    if e:
        digits = power[1:] if power[:1] in ("-", "+") else power
        if not digits.rstrip(" ") or not is_digits(digits.rstrip(" ")) or mantissa.endswith(" "):
            return None
    mantissa = mantissa.rstrip(" ")
    if not mantissa or (not is_digits(mantissa[0]) and not (mantissa[0] in ".," and len(mantissa) > 1)):
        return None
    if mantissa[0] in ".," and not is_digits(mantissa[1:]):
        return None
    whole, _, rest = mantissa.partition(mark)
    if not is_digits(rest):
        return None
    if not is_digits(whole):
        joined = _joined(whole, mark)
        if joined is None:
            return None
        whole = joined
    if not whole and not rest:
        return None
    value = float(f"{whole or '0'}.{rest or '0'}e{power.strip() if e else '0'}")
    return value if math.isfinite(value) else None


def _joined(whole: str, mark: str) -> str | None:
    """The digits of 1,234,567, of 1'234'567, of 1 234 567 or of 12,34,567."""
    between = {sign for sign in whole if not is_digits(sign)}
    if len(between) != 1:
        return None
    (sign,) = between
    if sign == mark or sign not in ".,' ":
        return None
    first, *others = whole.split(sign)
    if not first or first[0] == "0" or len(first) > 3 or len(others[-1]) != 3:
        return None
    inner = {len(part) for part in others[:-1]}
    western = inner <= {3}
    indian = inner == {2} and len(first) <= 2 and sign != "'"
    return "".join((first, *others)) if western or indian else None
