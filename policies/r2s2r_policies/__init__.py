"""Policies of the sorting task, learned with robomimic: data, networks, training and inference."""
