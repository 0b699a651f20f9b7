"""A slice for each notebook: its trials, what is found in its runs, its charts and tables."""
