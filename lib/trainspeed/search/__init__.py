"""Which of all switches, together, train fastest: stages of measuring, replayed from runs. Measures nothing."""
