"""What can be read off the machine: GPUs, host, processes, memory. Only `nvml` imports pynvml."""
