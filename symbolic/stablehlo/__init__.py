"""Dialect ``stablehlo``: operations of StableHLO, by name and with their own attributes."""
