"""Factorisations of matrices, shared by every dialect: batches of any rank, in float32 and float64.

What a factorisation leaves open is chosen as LAPACK chooses it; the signs of eigenvectors and singular vectors, which
follow from the steps that it takes, only where they are asked for, and for small matrices.
"""
