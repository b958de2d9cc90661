"""What the stages hand to each other. Imports NumPy and the standard library only."""
