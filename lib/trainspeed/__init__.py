"""What makes training faster, measured: a package for each layer, and in `studies` a slice for each notebook."""
