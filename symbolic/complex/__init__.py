"""Complex numbers and Fourier transforms, for every dialect."""
