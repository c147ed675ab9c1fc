"""From the summed trees to predictions: objectives of XGBoost, LightGBM and CatBoost, each in its own dialect.

A function is ``f(g, margin, **parameters)``: `margin` is the raw score [batch, outputs], `parameters` what the model
file says about its objective; the result has the library's own shape.
"""
