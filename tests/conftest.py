"""What every test process needs before a framework is imported."""

import importlib
import importlib.util
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers share two cores
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("NO_COLOR", "1")

# Triton (of torch) and TensorFlow in one process: only this order of loading them doesn't crash. Converting a torch
# model copes with the other one (tests/models), but tests also call torch themselves.
if importlib.util.find_spec("triton") is not None:
    importlib.import_module("triton")
