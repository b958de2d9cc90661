"""Human hand and wrist motion to robot motion: retargeting, operator statistics, demonstrations."""
