"""``python -m anyonnx`` is the command ``anyonnx``."""

from .cli.app import main

if __name__ == "__main__":
    main()
