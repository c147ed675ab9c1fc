"""Lowerings in XLA's own terms, shared by the jaxpr and StableHLO dialects: plain functions of values and numbers."""
