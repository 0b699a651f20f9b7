"""The slice of `conv2d.ipynb`: from what size on does a device beat the CPU at one convolution?"""
