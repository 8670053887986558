"""Views read answers, not certificates: those are passed on whole, to a file or as JSON,
or to the checker.
"""

import ast
from pathlib import Path

import pytest

import sugenet

ROOT = Path(sugenet.__file__).parent
FILES = sorted(path for room in ("show", "web", "cli") for path in (ROOT / room).glob("*.py"))
DIGGING = ("get", "items", "keys", "values", "pop", "setdefault")


def digging(source):
    """Where the inside of something called a certificate is looked at."""
    found = []
    for node in ast.walk(ast.parse(source)):
        inside = None
        if isinstance(node, ast.Subscript | ast.Attribute):
            inside = node.value
        elif isinstance(node, ast.For | ast.comprehension):
            inside = node.iter
        elif isinstance(node, ast.Compare):
            inside = node.comparators[-1] if isinstance(node.ops[-1], ast.In | ast.NotIn) else None
        name = inside.attr if isinstance(inside, ast.Attribute) else getattr(inside, "id", "")
        is_method = not isinstance(node, ast.Attribute) or node.attr in DIGGING
        if name == "certificate" and is_method:
            found.append(
                ast.unparse(node) if not isinstance(node, ast.comprehension) else ast.unparse(node.iter)
            )
    return found


@pytest.mark.parametrize(
    "line",
    [
        'answer.certificate["proof"]',
        'certificate["proof"]',
        'self.found.nearest.certificate.get("proof")',
        '"proof" in answer.certificate',
        "[key for key in answer.certificate]",
    ],
)
def test_looking_inside_is_seen(line):
    assert digging(line)


def test_passing_on_is_not():
    assert (
        digging(
            "json.dumps(answer.certificate, indent=1)\ncheck(certificate, network)\nname.get(certificate)"
        )
        == []
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_views_do_not_look_into_certificates(path):
    assert digging(path.read_text(encoding="utf-8")) == []
