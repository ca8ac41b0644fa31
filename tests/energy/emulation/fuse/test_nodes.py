from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.fuse.nodes import Nodes
from tests.support.fuse.protocol import ROOT_ID


def test_a_path_keeps_its_id_while_it_is_known() -> None:
    nodes = Nodes()
    first = nodes.child(nodes[ROOT_ID], b"sys", "/sys")
    assert nodes.child(nodes[ROOT_ID], b"sys", "/sys") is first
    nodes.forget(first.id, 1)
    assert nodes[first.id] is first
    nodes.forget(first.id, 1)
    assert len(nodes) == 1
    assert nodes.child(nodes[ROOT_ID], b"sys", "/sys").id != first.id


def test_a_folder_forgotten_before_its_child_stays_until_the_child_goes() -> None:
    nodes = Nodes()
    folder = nodes.child(nodes[ROOT_ID], b"sys", "/sys")
    child = nodes.child(folder, b"class", "/sys/class")
    nodes.forget(folder.id, 1)
    assert nodes[folder.id] is folder
    nodes.forget(child.id, 1)
    assert len(nodes) == 1


def test_the_root_and_strangers_are_never_forgotten() -> None:
    nodes = Nodes()
    nodes.forget(ROOT_ID, 1_000)
    nodes.forget(99, 1)
    assert nodes[ROOT_ID].path == ""


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4)), st.randoms())
def test_forgetting_everything_in_any_order_leaves_the_root(
    walks: list[list[str]], random: Random
) -> None:
    nodes = Nodes()
    references: list[int] = []
    for walk in walks:
        node = nodes[ROOT_ID]
        for name in walk:
            node = nodes.child(node, name.encode(), f"{node.path}/{name}")
            references.append(node.id)
    random.shuffle(references)
    for reference in references:
        nodes.forget(reference, 1)
    assert len(nodes) == 1
