"""HTML is made by type: the sources hold no tag outside of a template,
and templates escape what is put in.
"""

import ast
import re
from pathlib import Path

import pytest

import sugenet
from sugenet.show.markup import Html, element
from tests.show.conftest import HOSTILE

TAG = re.compile(r"</?[a-zA-Z]+[\s/>]|<!(--|doctype)", re.IGNORECASE)
ROOT = Path(sugenet.__file__).parent
FILES = sorted(path for room in ("show", "web", "cli") for path in (ROOT / room).glob("*.py"))
OWN = {
    "bundle": ["Html(source('index.html'))", "Html(text)"],
    "guards": ["'<!doctype html><meta charset=utf-8><title>sugenet</title><script>'", "'</script>'"],
    "serving": ['\'<!doctype html><meta http-equiv="refresh" content="0; url=\''],
}
"""Templates that are files of the page, and scripts that were looked at."""


def tags_outside(source):
    """Strings that hold a tag and are no template, and templates that are not written out."""
    templates, words, found = set(), set(), []
    nodes = list(ast.walk(ast.parse(source)))
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Html", "Markup"):
            templates |= {id(argument) for argument in node.args if isinstance(argument, ast.Constant)}
            if not all(id(argument) in templates for argument in node.args):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            words.add(id(node.value))
        elif isinstance(node, ast.FormattedValue):
            words.add(id(node.format_spec))  # where < means to the left
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and id(node) not in words:  # such as f"<{name}>"
            ends = [
                str(part.value).endswith(("<", "</"))
                for part in node.values
                if isinstance(part, ast.Constant)
            ]
            found += [ast.unparse(node)] if any(ends) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and TAG.search(node.value):
            found += [] if id(node) in templates | words else [ast.unparse(node)]
    return sorted(found)


@pytest.mark.parametrize(
    "line",
    [
        'f"<p>{name}</p>"',
        'f"<{name}>"',
        '"<p>" + name',
        'Html(f"<p>{name}</p>")',
        "Html(name)",
        'name.join(["</b>"])',
    ],
)
def test_a_tag_outside_of_a_template_is_seen(line):
    assert tags_outside(f"def f(name):\n    '''Bold: <b>.'''\n    return {line}\n")


def test_a_template_is_fine():
    assert tags_outside('Html("<p>{}</p>").format(name)\nf"{a} < {b}"\n') == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_tags_are_written_in_templates_alone(path):
    assert tags_outside(path.read_text(encoding="utf-8")) == OWN.get(path.stem, [])


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_put_in_is_escaped(name):
    ways = (
        Html("<p>{}</p>").format(name),
        Html("<p>") + name + Html("</p>"),
        Html("").join([Html("<p>"), name, Html("</p>")]),
        element("p", name),
    )
    assert len(set(ways)) == 1
    assert re.findall("<[^>]*>", ways[0]) == ["<p>", "</p>"]
    assert "\x00" not in ways[0]
    assert Html.unescape(ways[0][3:-4]) == name.replace("\x00", "\\x00")
    assert element("a", title=name).count('"') == 2


def test_html_is_put_in_as_it_is():
    inner = element("b", "1 < 2")
    assert element("p", inner, " & so on") == Html("<p><b>1 &lt; 2</b> &amp; so on</p>")
