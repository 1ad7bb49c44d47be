"""A page as a tree: html.parser reads it, so that tests ask for elements and not for strings."""

import html.parser
import re
from xml.etree import ElementTree

VOID = {"meta", "link", "img", "br", "input"}


class _Builder(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tree = ElementTree.TreeBuilder()
        self.open = []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"
        self.root = self.tree.close()

    def handle_starttag(self, tag, attrs):
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.tree.end(tag)
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()
        self.tree.end(tag)

    def handle_data(self, data):
        if self.open:
            self.tree.data(data)


def tree(page):
    """The root element of a page, a text or a file's; elements that are not closed in their order are an error."""
    return _Builder(getattr(page, "html", page)).root


def words(element):
    """The text of an element on one line; narrow and no-break spaces are plain ones or nothing."""
    text = "".join(element.itertext()).replace("\u202f", "").replace("\u00a0", " ")
    return re.sub(r"\s+", " ", text).strip()


def styled(root, name):
    """The elements of a class."""
    return [element for element in root.iter() if name in element.get("class", "").split()]


def section(root, name):
    return next(element for element in root.iter("section") if element.get("id") == name)


def cells(table):
    """The rows of a table as texts, its head first."""
    return [[words(cell) for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]


def number(text):
    """A figure as the page writes it: a minus sign, narrow spaces, per cent."""
    text = text.replace("−", "-").replace("\u202f", "").replace("\u00a0", " ").strip()
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
