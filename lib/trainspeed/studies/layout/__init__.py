"""The slice of `layout.ipynb`: channels_first or channels_last?"""
