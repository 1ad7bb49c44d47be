"""Small trees without a compiler: the columns, the growth and the walk in numpy, with the bits of the kernels."""
