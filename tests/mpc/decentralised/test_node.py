"""One node of the protocol: what it sends for what it receives."""

import pytest

from mpc.decentralised.messages import (
    Activation,
    Address,
    Deletion,
    DeletionAck,
    Duplication,
    DuplicationAck,
    Envelope,
    Record,
)
from mpc.decentralised.node import Node, Stage

PRED, ME, SUCC = Address(0, 0), Address(1, 1), Address(2, 0)
NEW, NEW_SUCC, NEW_PRED = Address(1, 2), Address(2, 1), Address(0, 1)


def active(last: bool = False, keeper: bool = False) -> Node:
    node = Node(ME, keeper=keeper, last=last)
    node.activate([] if last else [SUCC], [PRED])
    return node


def stage(node: Node) -> Stage:
    return node.stage


def test_new_instances_start_when_every_neighbour_has_answered() -> None:
    node = active()
    told = node.scale_out([NEW])
    assert told == [
        Envelope(ME, PRED, Duplication((NEW,))),
        Envelope(ME, SUCC, Duplication((NEW,))),
    ]
    assert node.receive(PRED, DuplicationAck()) == []
    assert stage(node) is Stage.DUPLICATING
    start = Activation(frozenset({SUCC}), frozenset({PRED}))
    assert node.receive(SUCC, DuplicationAck()) == [Envelope(ME, NEW, start)]
    assert stage(node) is Stage.ACTIVE


def test_what_is_learned_meanwhile_is_in_the_start_message() -> None:
    node = active()
    node.scale_out([NEW])
    assert node.receive(SUCC, Duplication((NEW_SUCC,))) == [Envelope(ME, SUCC, DuplicationAck())]
    node.receive(SUCC, DuplicationAck())
    (start,) = node.receive(PRED, DuplicationAck())
    assert start.body == Activation(frozenset({SUCC, NEW_SUCC}), frozenset({PRED}))


@pytest.mark.parametrize("tells_the_new_one", [True, False])
def test_who_goes_meanwhile_is_named_if_it_tells_the_new_instances(
    tells_the_new_one: bool,
) -> None:
    node = active()
    node.scale_out([NEW])
    node.receive(PRED, Duplication((NEW_PRED,)))
    told = {ME, NEW} if tells_the_new_one else {ME}
    assert node.receive(PRED, Deletion(frozenset(told))) == [Envelope(ME, PRED, DeletionAck())]
    node.receive(SUCC, DuplicationAck())
    (start,) = node.receive(PRED, DuplicationAck())
    named = {NEW_PRED, PRED} if tells_the_new_one else {NEW_PRED}
    assert start.body == Activation(frozenset({SUCC}), frozenset(named))
    assert node.preds == {NEW_PRED}


def test_an_inactive_node_remembers_until_its_start() -> None:
    node = Node(ME)
    assert node.receive(SUCC, Duplication((NEW_SUCC,))) == [Envelope(ME, SUCC, DuplicationAck())]
    assert node.receive(PRED, Deletion(frozenset({ME}))) == [Envelope(ME, PRED, DeletionAck())]
    node.receive(PRED, Record(0))
    assert not node.may_work
    assert not node.may_scale
    node.receive(Address(1, 0), Activation(frozenset({SUCC}), frozenset({PRED, NEW_PRED})))
    assert node.succs == {SUCC, NEW_SUCC}
    assert node.preds == {NEW_PRED}
    assert node.may_work


def test_a_node_goes_after_its_predecessors_its_queue_and_its_successors() -> None:
    node = active()
    node.receive(PRED, Record(0))
    assert node.scale_in() == [Envelope(ME, PRED, Deletion(frozenset({PRED})))]
    assert node.receive(PRED, DeletionAck()) == []
    assert stage(node) is Stage.DRAINING
    sent, results = node.work()
    assert results == []
    assert sent == [
        Envelope(ME, SUCC, Record(0)),
        Envelope(ME, SUCC, Deletion(frozenset({SUCC}))),
    ]
    assert node.receive(SUCC, DeletionAck()) == []
    assert stage(node) is Stage.TERMINATED


def test_results_leave_at_the_last_operator() -> None:
    node = active(last=True)
    node.receive(PRED, Record(7))
    assert node.work() == ([], [Record(7)])
    node.scale_in()
    node.receive(PRED, DeletionAck())
    assert stage(node) is Stage.TERMINATED


def test_without_neighbours_an_operation_ends_at_once() -> None:
    node = Node(ME, last=True)
    node.activate([], [])
    (start,) = node.scale_out([NEW])
    assert start.receiver == NEW
    assert node.scale_in() == []
    assert stage(node) is Stage.TERMINATED


def test_records_go_to_the_successors_in_turn() -> None:
    node = Node(ME)
    node.activate([SUCC, NEW_SUCC], [PRED])
    for number in range(4):
        node.receive(PRED, Record(number))
    receivers = [node.work()[0][0].receiver for _ in range(4)]
    assert receivers == [SUCC, NEW_SUCC, SUCC, NEW_SUCC]


def test_one_operation_at_a_time_and_the_keeper_never_goes() -> None:
    node = active()
    node.scale_out([NEW])
    with pytest.raises(ValueError, match="duplicating"):
        node.scale_in()
    with pytest.raises(ValueError, match="duplicating"):
        node.scale_out([NEW_PRED])
    with pytest.raises(ValueError, match="cannot delete itself"):
        active(keeper=True).scale_in()
    with pytest.raises(ValueError, match="nothing to work on"):
        active().work()
