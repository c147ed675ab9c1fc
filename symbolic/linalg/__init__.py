"""Factorisations of matrices, shared by every dialect: batches of any rank, in float32 and float64.

What a factorisation leaves open is chosen as LAPACK chooses it, except the signs of eigenvectors and of singular
vectors: LAPACK's own follow from the number of iterations that it takes.
"""
