"""PaddlePaddle: programs read without Paddle, live layers captured through to_static."""

from .load import PaddleFrontend

__all__ = ["PaddleFrontend"]
