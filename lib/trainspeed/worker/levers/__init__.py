"""What each lever does in a framework, one hook a lever, and how it is seen there. Measures nothing."""
