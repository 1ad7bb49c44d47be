"""config_context: what a fit without convergence does, here, in threads and in worker processes."""

from __future__ import annotations

import contextvars
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.utils.parallel import Parallel, delayed

from gapless._runtime.backend import choose_backend, numpy_in_use, use_backend
from gapless._runtime.config import config_context, get_config, report_convergence
from gapless.errors import ConvergenceWarning


def said(mode=None):
    """What report_convergence does under a mode: the list of warnings, or the exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if mode is None:
                report_convergence("not there yet")
            else:
                with config_context(convergence=mode):
                    report_convergence("not there yet")
        except ConvergenceWarning as error:
            return error
    return [str(w.message) for w in caught]


def test_modes():
    assert said() == ["not there yet"]
    assert said("warn") == ["not there yet"]
    assert said("record") == []
    assert said("ignore") == []
    error = said("raise")
    assert isinstance(error, ConvergenceWarning)
    assert str(error) == "not there yet"


def test_nesting_and_leaving():
    before = list(warnings.filters)
    assert get_config() == {"convergence": "warn", "backend": "auto"}
    with config_context(convergence="raise"):
        assert get_config()["convergence"] == "raise"
        with config_context(convergence="ignore"):
            assert get_config()["convergence"] == "ignore"
            with config_context():
                assert get_config()["convergence"] == "ignore"
        assert get_config()["convergence"] == "raise"
        with pytest.raises(RuntimeError), config_context(convergence="record"):
            raise RuntimeError
        assert get_config()["convergence"] == "raise"
    assert get_config() == {"convergence": "warn", "backend": "auto"}
    assert list(warnings.filters) == before


def test_what_is_handed_out_is_a_copy():
    get_config()["convergence"] = "ignore"
    assert get_config() == {"convergence": "warn", "backend": "auto"}


@pytest.mark.parametrize("bad", ["quiet", "", 1, True])
def test_unknown_modes_are_named(bad):
    with pytest.raises(ValueError, match="convergence must be one of"), config_context(convergence=bad):
        pass


def test_the_warning_points_at_the_caller():
    def fit():
        report_convergence("not there yet")

    with pytest.warns(ConvergenceWarning) as caught:
        fit()
    assert caught[0].filename == __file__


def test_one_thread_does_not_disturb_another():
    inside, done = threading.Event(), threading.Event()

    def quiet():
        with config_context(convergence="ignore"):
            inside.set()
            done.wait(10)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=quiet)
        thread.start()
        try:
            assert inside.wait(10)
            assert get_config()["convergence"] == "warn"
            report_convergence("not there yet")  # with the other thread's filter in front of all others
        finally:
            done.set()
            thread.join()
    assert [str(w.message) for w in caught] == ["not there yet"]


def test_a_copied_context_reaches_a_thread():
    with ThreadPoolExecutor(1) as pool, config_context(convergence="record"):
        context = contextvars.copy_context()
        assert pool.submit(context.run, get_config).result() == {"convergence": "record", "backend": "auto"}


def _fit_in_worker():
    with warnings.catch_warnings(record=True) as caught:
        try:
            report_convergence("not there yet")
        except ConvergenceWarning:
            return "raised"
    return len(caught)


@pytest.mark.parametrize(("mode", "expected"), [("ignore", 0), ("record", 0), ("raise", "raised"), ("warn", 1)])
def test_settings_reach_the_processes_of_scikit_learn(mode, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with config_context(convergence=mode):
            got = Parallel(n_jobs=2, backend="loky")(delayed(_fit_in_worker)() for _ in range(2))
    assert got == [expected] * 2


def test_the_backend_follows_from_the_number_of_values():
    assert choose_backend(13_333, 30) == "numpy"
    assert choose_backend(13_334, 30) == "numba"
    with config_context(backend="numba"):
        assert choose_backend(10, 2) == "numba"
        with config_context(convergence="ignore"):
            assert get_config() == {"convergence": "ignore", "backend": "numba"}
        with config_context(backend="auto"):
            assert choose_backend(10, 2) == "numpy"
    with config_context(backend="numpy"):
        assert choose_backend(10**6, 10**3) == "numpy"
    assert get_config() == {"convergence": "warn", "backend": "auto"}


@pytest.mark.parametrize("bad", ["gpu", "", 1, True])
def test_unknown_backends_are_named(bad):
    accepted = r"backend must be one of \['auto', 'numpy', 'numba'\]; got"
    with pytest.raises(ValueError, match=accepted), config_context(backend=bad):
        pass


def test_a_backend_is_in_use_inside_its_block():
    assert not numpy_in_use()
    with use_backend("numpy"):
        assert numpy_in_use()
        with use_backend("numba"):
            assert not numpy_in_use()
        assert contextvars.copy_context().run(numpy_in_use)
    assert not numpy_in_use()


def _backend_in_worker():
    return choose_backend(10, 2), choose_backend(10**6, 10**3)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_the_backend_reaches_the_processes_of_scikit_learn(backend):
    before = list(warnings.filters)
    with config_context(backend=backend):
        got = Parallel(n_jobs=2, backend="loky")(delayed(_backend_in_worker)() for _ in range(2))
    assert got == [(backend, backend)] * 2
    assert list(warnings.filters) == before
    assert (
        Parallel(n_jobs=2, backend="loky")(delayed(_backend_in_worker)() for _ in range(2)) == [("numpy", "numba")] * 2
    )


def test_another_thread_does_not_see_the_backend_of_this_one():
    with config_context(backend="numba"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_config).result() == {"convergence": "warn", "backend": "auto"}
