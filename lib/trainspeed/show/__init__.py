"""Charts and tables that every notebook shares, and what puts them on a page."""
