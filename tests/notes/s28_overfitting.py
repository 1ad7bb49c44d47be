"""S28. Over- and underfitting on the noisy sine: a study that runs and draws itself."""

import numpy as np
from gapless.theory.overfitting import overfitting

from gapless.plots import OverfittingDisplay

study = overfitting("depth", values=(1, 2, 4, 8), n=60, noise=0.3, repetitions=20)

# Rows seen are fitted ever better; on new data the error has its lowest point between too small and too large.
assert (np.diff(study.train) < 0.0).all()
assert study.best in (2, 4)
assert study.test[0] > study.test.min()
assert study.test[-1] > study.test.min()

# Small trees miss the wave (bias), large ones follow the noise (variance); the sum and the noise are the error.
assert study.squared_bias[0] > study.squared_bias[-1]
assert study.variance[0] < study.variance[-1]
assert np.allclose(study.test, study.squared_bias + study.variance + 0.3**2, rtol=0.05)
display = OverfittingDisplay.from_study(study).plot()
assert display.best_.get_xdata()[0] == study.best
print(study)
