"""The verbs of each loss, compiled into kernels: importing this room binds them to the losses' classes."""

from gapless.losses.compiled import hinge, logistic, perceptron, squared, squared_hinge

__all__ = ["hinge", "logistic", "perceptron", "squared", "squared_hinge"]
