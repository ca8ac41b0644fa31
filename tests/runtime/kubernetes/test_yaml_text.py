"""YAML is written so that no parser can take text for anything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.kubernetes.yaml_text import Value, yaml_documents

EXPECTED = """\
---
name: agent
plain: /etc/foresight/agent.toml
word: "true"
Norway: "no"
number: "0644"
count: 3
flag: false
colon: "a: b"
empty: ""
nothing: {}
none: []
list:
  - "1"
  - key: value
    more:
      - - nested
block: |
  [listen]

    indented: yes
"pod-security/x:y": ok
---
second: document
"""


def test_a_manifest_reads_as_people_write_it() -> None:
    document: dict[str, Value] = {
        "name": "agent",
        "plain": "/etc/foresight/agent.toml",
        "word": "true",
        "Norway": "no",
        "number": "0644",
        "count": 3,
        "flag": False,
        "colon": "a: b",
        "empty": "",
        "nothing": {},
        "none": [],
        "list": ["1", {"key": "value", "more": [["nested"]]}],
        "block": "[listen]\n\n  indented: yes\n",
        "pod-security/x:y": "ok",
    }
    assert yaml_documents([document, {"second": "document"}]) == EXPECTED.replace(
        "      - - nested", "      -\n        - nested"
    )


@given(st.text())
def test_text_comes_back(text: str) -> None:
    """A scalar is plain, a JSON string or a literal block, and each of them says the text."""
    head = "---\ntext:"
    written = yaml_documents([{"text": text}]).removeprefix(head)
    if written.startswith(" |\n"):
        lines = written.removeprefix(" |\n").removesuffix("\n").split("\n")
        assert all(line == "" or line.startswith("  ") for line in lines)
        assert "".join(f"{line[2:]}\n" for line in lines) == text
    elif written.startswith(' "'):
        assert json.loads(written) == text
        assert written.count("\n") == 1
    else:
        assert written == f" {text}\n"
        assert text.isascii()


@pytest.mark.parametrize("text", ["yes", "No", "NULL", "~", "1e3", ".inf", "- a", "#", "a: b", "*"])
def test_what_yaml_would_read_as_something_else_is_quoted(text: str) -> None:
    assert yaml_documents([{"key": text}]) == f'---\nkey: "{text}"\n'
