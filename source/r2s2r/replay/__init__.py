"""Many demonstrations replayed at once, each adapted to its own environment, on the device."""
