"""What turns a wrist target into joint targets. Import its modules: they load Warp, this package does not."""
