"""The hooks of the site: every public name, the notebooks with their outputs, and a list of all pages."""

import json
import re
from types import SimpleNamespace

import pytest
import yaml

import sugenet
from tools.site import (
    GROUPS,
    MODULES,
    NOTEBOOKS,
    ROOT,
    api_page,
    api_pages,
    contents,
    first_sentence,
    llms_text,
    module_name,
    module_of,
    names_of,
    notebook_page,
    on_config,
    on_page_content,
    sections,
)


def nav():
    """The navigation with the pages of the Python API."""
    written = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    return on_config(SimpleNamespace(nav=written)).nav


def test_no_public_name_is_forgotten():
    named = [name for page in api_pages() for name in names_of(page)]
    assert len(named) == len(set(named))
    for name in sugenet.__all__:
        assert module_name(name) != (f"sugenet.{name}" in named), name
        assert not module_name(name) or name in api_pages(), name


def test_verbs_come_first():
    assert next(iter(api_pages())) == "verbs"
    assert names_of("verbs")[:4] == ["sugenet.verify", "sugenet.whatif", "sugenet.why", "sugenet.count"]
    page = "api/verbs" + ".md"
    assert f"| [Verbs]({page}) | [`verify`]({page}#sugenet.verify), " in contents().splitlines()[2]


@pytest.mark.parametrize("page", [page for page in api_pages() if page not in (*GROUPS, "more")])
def test_a_module_page_has_all_names_that_no_group_has(page):
    lines, module = api_page(page).splitlines(), module_of(page)
    for name in module.__all__:
        assert (f"::: {module.__name__}.{name}" in lines) != (name in sugenet.__all__), name


def test_the_copy_button_copies_commands_alone():
    html = (
        '<div class="highlight"><pre><span></span><code>'
        '<span class="gp">$ </span>sugenet <span>why</span> &lt;x&gt;\n'
        '<span class="go">an answer</span>\n<span class="gp">$ </span>ls\n</code></pre></div>'
    )
    assert '<div class="highlight" data-copy="sugenet why &lt;x&gt;\nls"><pre>' in on_page_content(html)
    plain = '<div class="highlight"><pre><span></span><code>x = 1\n</code></pre></div>'
    assert on_page_content(plain) == plain


def test_notebooks_come_with_code_and_outputs():
    for path in NOTEBOOKS:
        page, cells = notebook_page(path), json.loads(path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert all(f"```python\n{source}\n```" in page for source in code)
        assert page.count('<div class="answer"') >= 7


def test_every_page_is_in_the_navigation_and_in_llms_txt():
    listed = [path for _, pages in sections(nav()) for _, path in pages]
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert len(listed) == len(set(listed))
    assert written <= set(listed)
    made = {path: "# Title\n\nOne sentence. Another." for path in listed if path not in written}
    config = SimpleNamespace(
        nav=nav(), site_name="sugenet", site_description="Exact.", docs_dir=str(ROOT / "docs")
    )
    text = llms_text(config, made)
    assert [path for path in listed if f"({path.removesuffix('.md')}.html): " not in text] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_pages_import_from_modules_of_the_reference(page):
    imported = re.findall(r"^(?:>>> )?(?:from|import) sugenet\.([\w.]+)", page.read_text(), re.MULTILINE)
    assert [module for module in imported if module not in MODULES] == []


def test_the_first_sentence_of_a_page_is_its_description():
    page = "# Title\n\n![picture](a.png)\n\n`verb` finds [the change](a) that\ncosts least. More.\n"
    assert first_sentence(page) == "`verb` finds the change that costs least."
