"""The scikit-learn frontend."""
