"""What runs inside a framework's environment: data, models, training, convolutions, timing."""
