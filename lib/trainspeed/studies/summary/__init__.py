"""The front page: every verdict, the confirmed gains and the recipe."""
