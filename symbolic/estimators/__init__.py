"""Symbolic functions of scikit-learn estimators (dialect ``estimators``), one module per family."""
