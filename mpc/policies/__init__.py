"""Scaling policies: measurement in, decision out. Each file names its source."""
