"""What five published articles measured and claimed, next to what is measured here."""
