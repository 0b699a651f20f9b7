"""The slice of `switches.ipynb`: everything that can be switched on, in one experiment."""
