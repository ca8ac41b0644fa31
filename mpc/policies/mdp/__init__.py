"""Scaling as a Markov decision process, solved or learned; source: Russo Russo 2018.

`problem`, `value_iteration` and `learner` are the method for any number of operators, `controllers`
its centralised and decentralised forms; `policy` and `rl_policy` run it on one operator behind the
contract of every policy.
"""
