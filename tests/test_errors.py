"""The tree of exceptions in the docstring is the tree of the classes."""

import ast
from pathlib import Path

from sugenet import errors

SOURCE = Path(errors.__file__).parent


def drawn_tree():
    """For each class of the docstring the class above it."""
    above, parents = [], {}
    for line in errors.__doc__.splitlines():
        name = line.strip(" │├└─").split(" ")[0]
        if line.startswith("    ") and name.endswith("Error"):
            depth = (line.index(name) - 4) // 4
            above[depth:] = [name]
            assert name not in parents, name
            parents[name] = above[depth - 1] if depth else "ValueError"
    return parents


def test_every_public_exception_is_in_the_tree_where_it_belongs():
    classes = [
        (node.name, [ast.unparse(base) for base in node.bases])
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    found, grown = {"SugenetError": "ValueError"}, True
    while grown:  # a class may be written before the one that it is derived from
        more = {
            name: next(base for base in bases if base in found)
            for name, bases in classes
            if name not in found and any(base in found for base in bases)
        }
        found |= more
        grown = bool(more)
    public = {name: parent for name, parent in found.items() if not name.startswith("_")}
    assert drawn_tree() == public
    assert {name for name in errors.__all__ if name.endswith("Error")} <= public.keys()
