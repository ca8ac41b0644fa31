"""The evaluation of Russo Russo 2018: a pipeline of M/D/1 operators over a year of taxi-like
arrivals.
"""
