#!/usr/bin/env python3
"""Makes blackboard/client/sync.py from the asynchronous client: its methods are written once."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (ROOT / "blackboard/client/board.py", ROOT / "blackboard/client/actions.py")
TARGET = ROOT / "blackboard/client/sync.py"
HEADER = '''"""The methods of `Board` for code without an event loop.

Made by scripts/generate_sync.py from board.py and actions.py: change these, and run the script.
"""

# ruff: noqa: A002 - the names of the arguments are those of the message
'''


def generate(*sources: str) -> str:
    """The text of sync.py for the texts of board.py and actions.py, not yet formatted."""
    trees = [ast.parse(source) for source in sources]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    found = [node for one in classes for node in one.body if isinstance(node, ast.AsyncFunctionDef)]
    body: list[ast.stmt] = [_docstring(ast.get_docstring(classes[0]) or "")]
    body += [_method(node) for node in found if _public(node)]
    made = ast.ClassDef("SyncBoard", [ast.Name("SyncSession")], [], body, [])
    methods = ast.unparse(ast.fix_missing_locations(made))
    return "\n".join([HEADER, *_imports(trees, methods), "", '__all__ = ["SyncBoard"]', "", methods, ""])


def _public(node: ast.AsyncFunctionDef) -> bool:
    return not node.name.startswith("_")


def _imports(trees: list[ast.Module], methods: str) -> list[str]:
    """The imports of the sources as far as the signatures name them, and the base class."""
    named = {node.id for node in ast.walk(ast.parse(methods)) if isinstance(node, ast.Name)}
    kept = {"blackboard.client.sync_session": {"SyncSession"}, "collections.abc": {"Iterator"}}
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {alias.name for alias in node.names if alias.name in named or node.module == "__future__"}
            if names:
                kept.setdefault(node.module, set()).update(names)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in kept.items()]
    return sorted(lines, key=lambda line: (not line.startswith("from __future__"), line))


def _method(node: ast.AsyncFunctionDef) -> ast.FunctionDef:
    iterates = ast.unparse(node.returns or ast.Name("None")).startswith("AsyncGenerator")
    returns = node.returns
    if iterates:
        assert isinstance(returns, ast.Subscript)
        assert isinstance(returns.slice, ast.Tuple)
        returns = ast.Subscript(ast.Name("Iterator"), returns.slice.elts[0])
    call = ast.Call(ast.parse(f"self._board.{node.name}", mode="eval").body, *_passed_on(node.args))
    drive = ast.parse("self._iterate" if iterates else "self._run", mode="eval").body
    body: list[ast.stmt] = [
        _docstring(ast.get_docstring(node) or ""),
        ast.Return(ast.Call(drive, [call], [])),
    ]
    return ast.FunctionDef(node.name, node.args, body, [], returns)


def _passed_on(arguments: ast.arguments) -> tuple[list[ast.expr], list[ast.keyword]]:
    positional: list[ast.expr] = [ast.Name(argument.arg) for argument in arguments.args[1:]]
    named = [ast.keyword(argument.arg, ast.Name(argument.arg)) for argument in arguments.kwonlyargs]
    return positional, named


def _docstring(text: str) -> ast.Expr:
    return ast.Expr(ast.Constant(text + "\n" if "\n" in text else text))


def main() -> int:
    """Write sync.py, formatted where ruff is at hand."""
    TARGET.write_text(generate(*(source.read_text(encoding="utf-8") for source in SOURCES)), encoding="utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        subprocess.run([ruff, "check", "--fix", "--quiet", "--select", "I", TARGET], check=True)
        subprocess.run([ruff, "format", "--quiet", TARGET], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
