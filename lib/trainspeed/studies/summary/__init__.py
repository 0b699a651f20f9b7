"""The front page: what to switch on, every verdict, and the gains confirmed."""
