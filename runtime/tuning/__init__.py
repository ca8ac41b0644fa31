"""Finds weights, horizon, step and limits for somebody's own trace, in simulation."""
