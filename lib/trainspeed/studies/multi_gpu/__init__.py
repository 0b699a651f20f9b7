"""The slice of `multi_gpu.ipynb`: does another device pay, and does the input pipeline keep up?"""
