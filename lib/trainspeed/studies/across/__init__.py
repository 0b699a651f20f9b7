"""The same trials of two ledgers side by side."""
