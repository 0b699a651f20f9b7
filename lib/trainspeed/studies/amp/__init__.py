"""The slice of `amp.ipynb`: what does 16-bit arithmetic buy?"""
