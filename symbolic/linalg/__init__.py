"""Factorisations of matrices, shared by every dialect: batches of any rank, in float32 and float64.

What a factorisation leaves open is chosen as LAPACK chooses it, except the signs of singular vectors and those of
eigenvectors of large matrices: LAPACK's own follow from the steps that it takes.
"""
