"""The command line: one module for each command, heavy imports inside the functions."""
