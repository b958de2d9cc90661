"""The robot of the cell: its composed description, limits and ready pose. Loads NumPy and the standard library."""
