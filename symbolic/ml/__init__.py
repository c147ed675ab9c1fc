"""Lowerings shared by the classical frameworks: tree table, linear models, preprocessing."""
