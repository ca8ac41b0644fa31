"""The decision core: values, models, the horizon optimiser and every scaling policy.

Pure: no clock, no I/O, no Spark, no randomness of its own.
"""
