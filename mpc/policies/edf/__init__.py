"""EDF, the hierarchical control of seed 000: operator, node and application managers."""
