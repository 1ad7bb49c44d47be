"""Pictures are drawn without a screen, and closed."""

import pytest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _closed():
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")
