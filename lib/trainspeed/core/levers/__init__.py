"""What can be switched on in a training, as values: one entry a lever. Knows no framework and no run."""
