"""What stands in the scene."""
