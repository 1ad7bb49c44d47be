"""The estimators, one line each: where a class lies, what its family is called, and what it shares with others.

Everybody who needs a list of estimators takes it from here: the public names, the model files, the kernels that `warmup`
compiles, the models of the command line. It imports nothing, so that `import gapless` stays instant.
"""


class RegisteredEstimator:
    """One estimator.

    ``module`` defines the class. ``family`` is its word in every room: `judge/<family>` reads its documents. Estimators with the
    same ``kernels`` run the same compiled kernels. ``command`` is its name in ``gapless train --model``; None where it has none.
    """

    __slots__ = ("command", "family", "kernels", "module", "name")

    def __init__(self, name: str, module: str, family: str, kernels: str, command: "str | None" = None) -> None:
        self.name = name
        self.module = f"gapless.estimators.{module}"
        self.family = family
        self.kernels = kernels
        self.command = command


#: Each of these can be saved to a model file and loaded from one; a file that names another class is refused, never looked up.
#: LogisticRegression with C = inf is of the family "likelihood"; the document of AdaBoostRegressor is that of bagged learners.
ESTIMATORS = (
    RegisteredEstimator("Perceptron", "perceptron", "perceptron", "perceptron"),
    RegisteredEstimator("LinearSVC", "linear_svc", "linear", "linear_svm", "svm"),
    RegisteredEstimator("SVC", "svc", "kernel", "kernel_machines", "rbf"),
    RegisteredEstimator("NuSVC", "svc", "kernel", "kernel_machines"),
    RegisteredEstimator("SVR", "svr", "kernel", "kernel_machines"),
    RegisteredEstimator("NuSVR", "svr", "kernel", "kernel_machines"),
    RegisteredEstimator("OneClassSVM", "one_class", "kernel", "kernel_machines"),
    RegisteredEstimator("LogisticRegression", "logistic", "linear", "logistic", "logistic"),
    RegisteredEstimator("LinearRegression", "least_squares", "least_squares", "least_squares", "linear"),
    RegisteredEstimator("Ridge", "least_squares", "least_squares", "least_squares", "ridge"),
    RegisteredEstimator("LeastSquaresClassifier", "least_squares", "least_squares", "least_squares", "least_squares"),
    RegisteredEstimator("Lasso", "sparse.lasso", "sparse", "sparse", "lasso"),
    RegisteredEstimator("ElasticNet", "sparse.lasso", "sparse", "sparse", "elastic_net"),
    RegisteredEstimator("AdaBoostClassifier", "adaboost", "boosting", "stumps", "adaboost"),
    RegisteredEstimator("AdaBoostRegressor", "adaboost_regressor", "bagging", "trees"),
    RegisteredEstimator("BaggingClassifier", "bagging", "bagging", "trees", "bagging"),
    RegisteredEstimator("BaggingRegressor", "bagging", "bagging", "trees"),
    RegisteredEstimator("GaussianDiscriminant", "gaussian", "gaussian", "gaussian"),
    RegisteredEstimator("LinearDiscriminantAnalysis", "discriminant_analysis", "gaussian", "gaussian"),
    RegisteredEstimator("QuadraticDiscriminantAnalysis", "discriminant_analysis", "gaussian", "gaussian"),
    RegisteredEstimator("DecisionTreeClassifier", "tree", "tree", "trees"),
    RegisteredEstimator("DecisionTreeRegressor", "tree", "tree", "trees"),
)

#: Public name -> module that defines it.
MODULES = {entry.name: entry.module for entry in ESTIMATORS}
#: Model of the command line -> public name.
COMMANDS = {entry.command: entry.name for entry in ESTIMATORS if entry.command}


def with_kernels(group: str) -> "tuple[str, ...]":
    """The names of the estimators that share a group of compiled kernels."""
    return tuple(entry.name for entry in ESTIMATORS if entry.kernels == group)
