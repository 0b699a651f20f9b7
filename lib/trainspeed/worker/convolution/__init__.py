"""One convolution in every library. Only a framework's backend imports its module, inside a worker."""
