"""The same trials of two or more ledgers side by side: of machines, of versions or of days."""
