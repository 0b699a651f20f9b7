"""Is the instrument right on this machine? What is checked, and what the page shows."""
