"""Graph passes, one per file; the pipeline is a list of names."""
