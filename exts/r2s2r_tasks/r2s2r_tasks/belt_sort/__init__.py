"""Sorting from a moving belt: pick the target, drop it into its class's bin before it leaves."""
