"""Dialect ``keras_layers``: the layers of Keras by class name, its operations as ``ops.<class>``."""
