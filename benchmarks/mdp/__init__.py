"""The evaluation of seed 003: a pipeline of M/D/1 operators over a year of taxi-like arrivals."""
