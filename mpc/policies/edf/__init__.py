"""EDF, the hierarchical control of Cardellini et al. 2018: operator, node and application
managers.
"""
