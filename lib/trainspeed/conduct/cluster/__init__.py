"""Several machines: what a node does for others, and how it is reached."""
