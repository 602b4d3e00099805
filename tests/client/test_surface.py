"""The surface: every operation has a method, and the synchronous one is the asynchronous one."""

import ast
import inspect
import sys
import typing
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from blackboard.client import Board, SyncBoard
from blackboard.client.actions import ActionGate
from blackboard.client.session import Session
from blackboard.client.sync_session import SyncSession
from blackboard.messages.operations import OPERATIONS, Operation

ROOT = Path(__file__).resolve().parents[2]
METHODS = {
    name: method
    for part in (ActionGate, Board)
    for name, method in vars(part).items()
    if not name.startswith("_")
}
NAMED_OTHERWISE = {"read_entry": "read", "read": "read_many", "write": "write_many", "keep": "repair"}


def generator() -> ModuleType:
    spec = spec_from_file_location("generate_sync", ROOT / "scripts/generate_sync.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_has_a_method_that_takes_its_members(operation: Operation) -> None:
    method = METHODS[NAMED_OTHERWISE.get(operation.name, operation.name)]
    parameters = set(inspect.signature(method).parameters)
    members = set(operation.message.__struct_fields__)
    if operation.name == "read":
        members = {"keys", "turn"}  # the other members are those of read_all, which pages on its own
    if operation.name == "read_entry":
        members = {"key", "turn"}
    assert members <= parameters
    assert ("idempotency_key" in parameters) == operation.appends


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_method_returns_the_reply_of_its_operation(operation: Operation) -> None:
    method = METHODS[NAMED_OTHERWISE.get(operation.name, operation.name)]
    returned = typing.get_type_hints(method)["return"]
    if operation.name == "read_entry":
        assert returned.__name__ == "Entry"
    elif operation.stream:
        assert typing.get_args(returned)[0] is operation.reply
    else:
        assert returned is operation.reply


def test_the_generated_file_is_current() -> None:
    generating = generator()
    made = generating.generate(*(source.read_text(encoding="utf-8") for source in generating.SOURCES))
    there = (ROOT / "blackboard/client/sync.py").read_text(encoding="utf-8")
    assert _shape(made) == _shape(there), "run scripts/generate_sync.py"


def _shape(text: str) -> str:
    tree = ast.parse(text)
    imports = sorted(
        f"{node.module}: {sorted(alias.name for alias in node.names)}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module) and ast.get_docstring(node):
            node.body[0] = ast.Expr(ast.Constant(ast.get_docstring(node)))
    rest = [ast.unparse(node) for node in tree.body if not isinstance(node, ast.ImportFrom)]
    return "\n".join(imports + rest)


def test_the_synchronous_client_has_the_same_members_and_no_other() -> None:
    def names(*kinds: type) -> set[str]:
        return {name for kind in kinds for name in vars(kind) if not name.startswith("_")}

    assert names(SyncBoard, SyncSession) == names(ActionGate, Board, Session)


@pytest.mark.parametrize("name", METHODS)
def test_both_clients_take_the_same_arguments_and_say_the_same(name: str) -> None:
    here, there = METHODS[name], getattr(SyncBoard, name)
    assert list(inspect.signature(here).parameters.values()) == list(
        inspect.signature(there).parameters.values()
    )
    assert inspect.getdoc(here) == inspect.getdoc(there)
    assert not inspect.iscoroutinefunction(there)


def test_importing_the_client_loads_neither_server_nor_database() -> None:
    import subprocess

    code = (
        "import sys, blackboard; blackboard.connect; "
        "print({'sqlalchemy', 'starlette', 'uvicorn', 'aiosqlite', 'aiohttp'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
