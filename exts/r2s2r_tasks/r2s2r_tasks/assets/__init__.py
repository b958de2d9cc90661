"""What stands in the cell: robot, belt, bins, objects. Configurations here load no USD."""
