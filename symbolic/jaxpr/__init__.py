"""Dialect ``jaxpr``: JAX primitives, by name and with their own parameters."""
