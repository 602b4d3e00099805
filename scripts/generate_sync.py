#!/usr/bin/env python3
"""Makes blackboard/client/sync.py from blackboard/client/board.py: the client's methods are written once."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "blackboard/client/board.py"
TARGET = ROOT / "blackboard/client/sync.py"
HEADER = '''"""The methods of `Board` for code without an event loop.

Made by scripts/generate_sync.py from board.py: change that, and run the script.
"""

# ruff: noqa: A002 - the names of the arguments are those of the message
'''


def generate(source: str) -> str:
    """The text of sync.py for the text of board.py, not yet formatted."""
    tree = ast.parse(source)
    (board,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Board")
    body: list[ast.stmt] = [_docstring(ast.get_docstring(board) or "")]
    body += [_method(node) for node in board.body if isinstance(node, ast.AsyncFunctionDef) and _public(node)]
    made = ast.ClassDef("SyncBoard", [ast.Name("SyncSession")], [], body, [])
    methods = ast.unparse(ast.fix_missing_locations(made))
    return "\n".join([HEADER, *_imports(tree, methods), "", '__all__ = ["SyncBoard"]', "", methods, ""])


def _public(node: ast.AsyncFunctionDef) -> bool:
    return not node.name.startswith("_")


def _imports(tree: ast.Module, methods: str) -> list[str]:
    """The imports of board.py as far as the signatures name them, and the base class."""
    named = {node.id for node in ast.walk(ast.parse(methods)) if isinstance(node, ast.Name)}
    kept = ["from blackboard.client.sync_session import SyncSession"]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names = [alias for alias in node.names if alias.name in named or node.module == "__future__"]
            if node.module == "collections.abc":
                names = sorted([*names, ast.alias("Iterator")], key=lambda alias: alias.name)
            if names:
                kept.append(ast.unparse(ast.ImportFrom(node.module, names, 0)))
    return sorted(kept, key=lambda line: (not line.startswith("from __future__"), line))


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
    TARGET.write_text(generate(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        subprocess.run([ruff, "check", "--fix", "--quiet", "--select", "I", TARGET], check=True)
        subprocess.run([ruff, "format", "--quiet", TARGET], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
