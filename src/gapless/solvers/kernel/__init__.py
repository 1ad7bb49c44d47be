"""The kernel dual: SVC, NuSVC, SVR, NuSVR, OneClassSVM."""
