"""Measures what a host draws, and writes the model that the controller plans with."""
