"""Learning configurations."""
