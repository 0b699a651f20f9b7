"""Judgement: pure functions on runs and numbers. `verdict` is the only place that decides."""
