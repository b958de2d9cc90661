"""Real streams on disk: where the recorded data lie and how each source is read."""
