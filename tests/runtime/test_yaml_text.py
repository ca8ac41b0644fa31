"""YAML is written so that no parser can take text for anything else."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runtime.yaml_text import Value, filled_documents, yaml_documents

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
    assert yaml_documents([document, {"second": "document"}]) == EXPECTED


def test_equal_parts_are_written_out() -> None:
    labels: dict[str, Value] = {"app": "agent"}
    assert yaml_documents([{"a": labels, "b": labels}]) == (
        "---\na:\n  app: agent\nb:\n  app: agent\n"
    )


@given(st.text())
def test_text_comes_back(text: str) -> None:
    written = yaml_documents([{"text": text}])
    assert yaml.safe_load(written) == {"text": text}


@given(st.from_regex(r"[A-Za-z0-9.+:~#*-]{1,8}", fullmatch=True))
def test_text_is_plain_only_where_every_parser_takes_it_for_text(text: str) -> None:
    written = yaml_documents([{"key": text}]).removeprefix("---\nkey: ")
    assert written == f'"{text}"\n' or (text[0].isalpha() and ":" not in text and "#" not in text)


@pytest.mark.parametrize("text", ["yes", "No", "NULL", "~", "1e3", ".inf", "- a", "#", "a: b", "*"])
def test_what_yaml_would_read_as_something_else_is_quoted(text: str) -> None:
    assert yaml_documents([{"key": text}]) == f'---\nkey: "{text}"\n'


def test_a_template_is_filled_once_and_parts_without_a_value_are_left_out() -> None:
    template = """
whole: ${number}
within: a ${number} b
absent: ${nothing}
args: [run, "${words}", [--more, "${number}"]]
parts:
- {when: number, name: kept}
- {when: nothing, name: dropped}
gone:
- when: nothing
  name: dropped
empty: {}
"""
    (document,) = filled_documents(
        template, {"number": 3, "nothing": None, "words": ["${number}", "x"]}
    )
    assert document == {
        "whole": 3,
        "within": "a 3 b",
        "args": ["run", "${number}", "x", "--more", 3],
        "parts": [{"name": "kept"}],
        "empty": {},
    }
    with pytest.raises(KeyError, match="unknown"):
        filled_documents("a: ${unknown}", {})
