"""What a notebook shows of an estimator: scikit-learn's diagram and the certificate, and never an error."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator

import gapless
from tests.pages.test_every_estimator import CLASSIFIERS, REGRESSORS, ids, numbers, rows


class Odd:
    """A parameter that neither prints nor compares."""

    def __repr__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [*CLASSIFIERS, *REGRESSORS, gapless.OneClassSVM()], ids=ids([*CLASSIFIERS, *REGRESSORS, "one"])
)
def test_the_certificate_stands_beside_the_diagram(model):
    model = type(model)(**model.get_params(deep=False))
    before = model._repr_html_()
    assert "sk-top-container" in before
    assert "gapless-certificate" not in before
    model.fit(*(numbers() if type(model) in map(type, REGRESSORS) else rows()))
    after = model._repr_html_()
    assert "sk-top-container" in after
    assert after.count("gapless-certificate") == 1
    assert type(model).__name__ in after[after.index("gapless-certificate") :]
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"].count("gapless-certificate") == 1
    assert bundle["text/plain"] == repr(model)


def test_as_text_where_that_is_asked_for():
    with sklearn.config_context(display="text"):
        assert not hasattr(gapless.LinearSVC(), "_repr_html_")
        assert set(gapless.LinearSVC()._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in gapless._HOME
        if isinstance(getattr(gapless, name), type) and issubclass(getattr(gapless, name), BaseEstimator)
    ],
)
def test_nothing_raises(name):
    """Unfitted, half-fitted, with parameters that no text can show, with a certificate that is none."""
    model = getattr(gapless, name)()
    parameter = next(iter(model.get_params(deep=False)))
    for value in (Odd(), np.arange(1000.0), None, object()):
        setattr(model, parameter, value)
        assert model._repr_html_()
        assert model._repr_mimebundle_()["text/plain"]
    model = getattr(gapless, name)()
    model.classes_ = Odd()
    for certificate in (Odd(), None, "<script>", 3, object()):
        model.certificate_ = certificate
        shown = model._repr_html_()
        assert "<script>" not in shown[shown.rfind("gapless-certificate") :] or certificate != "<script>"
    assert "&lt;script&gt;" in _with(model, "<script>")


def _with(model, certificate):
    model.certificate_ = certificate
    return model._repr_html_()


def test_labels_of_a_certificate_are_text():
    X, y = rows(3)
    labels = np.where(y == "one", "<script>1</script>", np.where(y == "two", "a'b", 'c"d'))
    for model in (gapless.LinearSVC(), gapless.SVC(), gapless.Perceptron(max_iter=5)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *args, **kwargs: None)
            shown = model.fit(X, labels)._repr_html_()
        block = shown[shown.index("gapless-certificate") :]
        assert "<script>" not in block
        assert "&lt;script&gt;1" in block


def test_pairs_of_classes_are_named_in_the_table_of_an_svc():
    X, y = rows(3)
    table = gapless.SVC().fit(X, y).certificate_._repr_html_()
    assert "against the rest" not in table
    assert table.count("<tr>") == 5  # a head, three pairs, the sum
    for pair in (("one", "three"), ("one", "two"), ("three", "two")):
        assert all(name in table for name in pair)
