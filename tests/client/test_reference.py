"""The reference of the client: every public method and property is in it, as it is, and its examples run."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blackboard.client import Board
from blackboard.client.actions import ActionGate
from blackboard.client.connect import Options
from blackboard.client.session import Session
from blackboard.service.signing import load_or_make

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/client.md").read_text(encoding="utf-8")
PUBLIC = {
    name: member
    for kind in (Session, ActionGate, Board)
    for name, member in vars(kind).items()
    if not name.startswith("_")
}
METHODS = {name: member for name, member in PUBLIC.items() if not isinstance(member, property)}
PROPERTIES = sorted(PUBLIC.keys() - METHODS.keys())


def shown(name: str) -> str:
    """A method as the page's headings show it: no annotations, no self."""
    signature = inspect.signature(METHODS[name])
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return f"{name}{text}".replace("'", '"')


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_documented_with_its_signature(name: str) -> None:
    assert f"### `{shown(name)}`\n" in PAGE


def test_the_page_documents_nothing_else() -> None:
    assert set(re.findall(r"^### `(\w+)\(", PAGE, re.MULTILINE)) == METHODS.keys()


@pytest.mark.parametrize("name", METHODS.keys() - {"close"})
def test_every_method_has_an_example(name: str) -> None:
    section = PAGE.partition(f"### `{name}(")[2].partition("\n### ")[0].partition("\n## ")[0]
    assert re.search(rf"```python\n.*?\.{name}\(.*?```", section, re.DOTALL)


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_is_documented(name: str) -> None:
    assert re.search(rf"^\| `{name}` \| ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", Options.__annotations__)
def test_every_option_is_documented(name: str) -> None:
    assert re.search(rf"^\| .*`{name}`.* \| .+ \|$", PAGE, re.MULTILINE)


def test_the_examples_run_and_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    code = "\n".join(text for language, text in blocks if language == "python")
    printed = "".join(text for language, text in blocks if not language)
    key = tmp_path / "signing.key"
    load_or_make(key)  # a new key is told of
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=os.environ | {"BLACKBOARD_SIGNING_KEY": str(key)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)
