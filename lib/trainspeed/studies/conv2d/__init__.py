"""The slice of `conv2d.ipynb`: which library convolves fastest, and from what size on?"""
