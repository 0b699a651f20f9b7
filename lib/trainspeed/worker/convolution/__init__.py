"""One convolution in every library. A framework's is imported by its backend alone, inside a worker."""
