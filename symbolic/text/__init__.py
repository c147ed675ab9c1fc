"""Text: characters of strings by their classes, tokens, n-grams; with the operators on strings of opset 20 only."""
