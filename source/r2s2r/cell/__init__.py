"""The virtual cell: a stand-in for the physical one, with hidden parameters and artefacts that no world describes."""
