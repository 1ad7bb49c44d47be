"""Tables of real data, and the dialects in which people write them."""

import csv
import datetime
import io
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn import datasets


@dataclass
class Table:
    """Columns of floats, dates, booleans or texts; None is a missing cell. The last column is the target."""

    names: list
    columns: list

    @property
    def rows(self):
        return [list(row) for row in zip(*self.columns)]

    def some(self, index):
        return Table(list(self.names), [[column[i] for i in index] for column in self.columns])

    def add(self, name, column, at=0):
        names, columns = list(self.names), list(self.columns)
        names.insert(at, name)
        columns.insert(at, list(column))
        return Table(names, columns)

    def without(self, *names):
        kept = [j for j, name in enumerate(self.names) if name not in names]
        return Table([self.names[j] for j in kept], [self.columns[j] for j in kept])


def bunch(data, features, scales, target, label):
    """The first features in units that have thousands and fractions, rounded to what is written."""
    columns = [[round(float(v) * scale, 3) for v in data.data[:, j]] for j, scale in zip(range(features), scales)]
    names = [name.replace(" ", "_").replace("/", "_") for name in data.feature_names[:features]]
    return Table([*names, label], [*columns, list(target)])


def cancer(label="diagnosis"):
    data = datasets.load_breast_cancer()
    words = np.where(data.target == 1, "benign", "malignant").tolist()
    return bunch(data, 8, (100, 10, 10, 10, 1000, 100, 10, 10), words, label)


def wine(label="cultivar"):
    data = datasets.load_wine()
    return bunch(data, 8, (100, 10, 10, 10, 10, 1, 1, 1), [f"kind {k}" for k in data.target], label)


def diabetes(label="progression"):
    data = datasets.load_diabetes()
    return bunch(data, 8, (1000,) * 8, [float(v) * 10 for v in data.target], label)


def with_dates(table, seed=0, times=False):
    """A column of dates that carries part of the answer: the year."""
    random = np.random.default_rng(seed)
    kinds = sorted({*table.columns[-1]}, key=str)
    place = {kind: k for k, kind in enumerate(kinds)}
    start = datetime.datetime(2001, 1, 1)
    found = []
    for value in table.columns[-1]:
        late = place[value] * 400 / max(len(kinds) - 1, 1)
        when = start + datetime.timedelta(days=int(random.integers(0, 2500) + late))
        when += datetime.timedelta(minutes=int(random.integers(0, 1440))) if times else datetime.timedelta(0)
        found.append(when)
    return table.add("when", found)


def with_gaps(table, share=0.03, seed=1, columns=None):
    random = np.random.default_rng(seed)
    new = [
        [None if j in (columns or range(len(table.names) - 1)) and random.random() < share else v for v in column]
        for j, column in enumerate(table.columns)
    ]
    return Table(list(table.names), new)


@dataclass
class Dialect:
    """How a table is written."""

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    indian: bool = False
    before: dict = field(default_factory=dict)  # column -> sign in front of its numbers
    after: dict = field(default_factory=dict)
    negative: str = "-{}"
    date: str = "%Y-%m-%d"
    time: str = " %H:%M:%S"
    missing: tuple = ("",)
    yes: tuple = ("True",)
    no: tuple = ("False",)
    encoding: str = "utf-8"
    newline: str = "\n"
    titles: str = ""
    footer: str = ""
    trailing: bool = False
    blank_every: int = 0
    spaces: bool = False
    quote: int = csv.QUOTE_MINIMAL
    index: str | None = None  # r: row names that the header lacks; pandas: with an empty name
    digits: dict = field(default_factory=dict)  # column -> digits behind the mark

    def number(self, value, name):
        digits = self.digits.get(name)
        text = repr(abs(value)) if digits is None else f"{abs(value):.{digits}f}"
        whole, _, rest = text.partition(".")
        rest = "" if rest == "0" and digits is None else rest
        groups = []
        size = 3
        while self.thousands and len(whole) > size:
            whole, group = whole[:-size], whole[-size:]
            groups.insert(0, group)
            size = 2 if self.indian else 3
        text = self.thousands.join([whole, *groups]) + (self.decimal + rest if rest else "")
        text = self.before.get(name, "") + text + self.after.get(name, "")
        return self.negative.format(text) if value < 0 or (value == 0 and str(value)[0] == "-") else text

    def cell(self, value, name, k):
        if value is None:
            return self.missing[k % len(self.missing)]
        if isinstance(value, bool):
            words = self.yes if value else self.no
            return words[k % len(words)]
        if isinstance(value, float):
            return self.number(value, name)
        if isinstance(value, datetime.datetime):
            time = self.time if value.time() != datetime.time(0) or "%H" in self.date else ""
            return value.strftime(self.date + time)
        return str(value)

    def text(self, table):
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=self.separator, lineterminator="\n", quoting=self.quote)
        head = list(table.names)
        if self.index == "pandas":
            head = ["", *head]
        writer.writerow([*head, *([""] if self.trailing else [])])
        for i, row in enumerate(table.rows):
            cells = [self.cell(value, name, i + j) for j, (value, name) in enumerate(zip(row, table.names))]
            if self.spaces:
                cells = [f" {cell} " if cell else cell for cell in cells]
            if self.index:
                cells = [str(i + (self.index == "r")), *cells]
            writer.writerow([*cells, *([""] if self.trailing else [])])
            if self.blank_every and i % self.blank_every == 0:
                stream.write("\n")
        return self.titles + stream.getvalue() + self.footer

    def write(self, table, path):
        path.write_bytes(self.text(table).replace("\n", self.newline).encode(self.encoding))
        return path

    def but(self, **changes):
        return replace(self, **changes)


CLEAN = Dialect(yes=("yes",), no=("no",))
