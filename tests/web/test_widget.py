"""The explorer in a cell: the widget's own JavaScript and page in a real browser, its own traits in Python,
and between them messages as a notebook sends them.
"""

import json
import os
import socket
import subprocess
import sys
import time
from fractions import Fraction
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

import sugenet as sg
from sugenet.errors import EncodingError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps

pytest.importorskip("anywidget")
pytest.importorskip("playwright")
from ipywidgets.widgets.widget import _remove_buffers
from playwright.sync_api import expect

from sugenet.web.page_data import raw_value
from sugenet.web.widget import Explorer

VS_CODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:;"
)
"""What the notebooks of VS Code allow (`notebook.experimental.enableCsp`); `blob:` is the test's own."""

HOST = """(state) => {
  const listeners = new Map();
  let changed = {};
  const fire = (name) => (listeners.get(`change:${name}`) || []).forEach((listener) => listener());
  const put = (name, value) => {
    const before = JSON.stringify(state[name]);
    state[name] = value;
    if (JSON.stringify(value) !== before) fire(name);
    return JSON.stringify(value) !== before;
  };
  const model = {
    get: (name) => state[name],
    set: (name, value) => { if (put(name, value)) changed[name] = value; },
    on: (name, listener) => listeners.set(name, [...(listeners.get(name) || []), listener]),
    off: (name, listener) => listeners.set(name, listeners.get(name).filter((other) => other !== listener)),
    save_changes: () => {
      if (Object.keys(changed).length) window.toPython(state.model, JSON.stringify(changed));
      changed = {};
    },
  };
  const update = (news) => Object.entries(news).forEach(([name, value]) => put(name, value));
  window.models = { ...window.models, [state.model]: update };
  window.show = { ...window.show, [state.model]: async () => {
    const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
    const el = document.createElement("div");
    document.body.append(el);
    window.leave = (await import(url)).default.render({ model, el });
  } };
}"""
"""The front end: anywidget's model, with the state of the Python side, and views that its module renders."""


class Notebook:
    """A page that shows widgets: their state goes there and back as JSON, as through a comm."""

    def __init__(self, page, policy=""):
        self.page, self.widgets, self.sent, self.inbox = page, {}, [], []
        page.expose_function("toPython", lambda model, text: self.inbox.append((model, text)))
        page.set_content(f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}">')

    def show(self, widget):
        """A cell with the widget; gives its page."""
        key = widget.model_id
        if key not in self.widgets:
            self.widgets[key] = widget
            widget.comm.send = lambda data=None, **_: self._from_python(key, data)
            state = json.loads(json.dumps(_remove_buffers(widget.get_state())[0]))
            self.page.evaluate(HOST, {"model": key, **state})
        self.page.evaluate("(key) => window.show[key]()", key)
        frame = self.page.frame_locator("iframe").nth(self.page.locator("iframe").count() - 1)
        expect(by(frame, "state")).to_have_text("proved")
        return frame

    def _from_python(self, key, data):
        if data.get("method") == "update":
            self.sent.append((key, json.loads(json.dumps(data["state"]))))

    def settle(self):
        """Deliver what both sides said, until neither has more to say."""
        for _ in range(20):
            self.page.wait_for_timeout(30)
            sent, self.sent = self.sent, []
            inbox, self.inbox = self.inbox, []
            if not sent and not inbox:
                return
            for key, state in sent:
                self.page.evaluate("([key, state]) => window.models[key](state)", [key, state])
            for key, text in inbox:
                self.widgets[key].set_state(json.loads(text))
        raise AssertionError("the two sides never come to rest")


def by(frame, name):
    return frame.locator(f'[data-test="{name}"]')


def values(frame):
    """What a page shows, read inside its frame."""
    return frame.locator("body").evaluate("() => window.sugenet.state.values")


@pytest.fixture
def notebook(page):
    return Notebook(page)


@pytest.fixture(scope="module")
def digits():
    return sg.models.digits(), sg.models.samples("digits")[0]


def odd():
    """One feature of each kind: a wide number, a real number, categories of several types, a bit."""
    encoder = Encoder(
        [
            Steps((float(2**60),), whole=True),
            Steps((0.25, 0.5)),
            OneHot(("<b>red</b>", None, 7)),
            Steps((1.0,), 0.0, 1.0, whole=True, bipolar=True),
        ],
        ["wide", "real", "kind", "bit"],
    )
    first = DenseLayer([[1, 1, 0, 1, 0, -1, 1], [0, -1, 1, 0, 1, 1, -1], [1, 0, 1, -1, 1, 0, 1]], [3, 2, 3])
    return Network(encoder, [first], Head([[1, -1, 1], [-1, 1, 1]]), classes=["no", "yes"])


# -- in Python -----------------------------------------------------------------------------------------------


def test_a_sample_may_have_names_and_keeps_its_exact_values():
    network, quarter = odd(), Fraction(1, 4)
    widget = sg.explore(network, [2**70 + 1, quarter, None, -1])
    assert isinstance(widget, Explorer)
    assert widget.sample == (2**70 + 1, quarter, None, -1)
    told = []
    widget.observe(lambda change: told.append((change.name, change.new, widget.prediction)), ["sample"])
    for other in (
        {"bit": 1, "kind": 7, "real": 0.1, "wide": 3},
        pd.Series({"bit": -1, "kind": 7, "real": 0.1, "wide": 3}, dtype=object),
        np.array([4, 0.1, 7, 1], dtype=object),
    ):
        widget.sample = other
        expected = network.classes[network.predict(np.array([widget.sample], dtype=object))[0]]
        assert told.pop() == ("sample", widget.sample, expected)
    assert widget.sample == (4, 0.1, 7, 1)
    assert [type(value) for value in widget.sample] == [int, float, int, int]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 0.1, "blue", 1], "kind is 'blue'.*not a category. The 3 categories are <b>red</b>, None, 7"),
        ([1.5, 0.1, 7, 1], "wide is 1.5.*must be an integer"),
        ([1, 0.1, 7], "the sample has 3 values, but the network reads 4 features"),
        ({"wide": 1, "real": 0.1, "kind": 7}, "lack 'bit'"),
        ([1, float("inf"), 7, 1], "real is inf.*must be a finite number"),
        ([1, float("nan"), 7, 1], "real is nan"),
    ],
)
def test_a_wrong_sample_is_refused_and_the_old_one_stays(bad, message):
    widget = sg.explore(odd(), [2, 0.3, 7, 1])
    before = dict(widget._shown)
    with pytest.raises(EncodingError, match=message):
        widget.sample = bad
    with pytest.raises(EncodingError, match=message):
        sg.explore(odd(), bad)
    assert widget.sample == (2, 0.3, 7, 1)
    assert widget._shown == before


@pytest.mark.parametrize(
    "bad", [None, [1], [1, 2, 3], [None] * 4, ["1/0", 0.1, 7, 1], [1, 0.1, [7], 1], [1, 0.1, 7, "x"]]
)
def test_what_a_page_may_not_say_changes_nothing(bad):
    widget = sg.explore(odd(), [2, 0.3, 7, 1])
    with pytest.raises(EncodingError):
        widget.set_state({"_shown": {"turn": 1, "start": None, "values": bad}})
    assert widget.sample == (2, 0.3, 7, 1)
    assert widget._shown == {"turn": 1, "start": [2, 0.3, 7, 1], "values": [2, 0.3, 7, 1]}


def test_a_click_that_comes_after_a_new_sample_is_too_late():
    widget = sg.explore(odd(), [2, 0.3, 7, 1])
    widget.sample = [3, 0.3, 7, 1]
    widget.set_state({"_shown": {"turn": 1, "start": [2, 0.3, 7, 1], "values": [2, 0.3, None, 1]}})
    assert widget.sample == (3, 0.3, 7, 1)


def test_a_callback_may_set_the_sample():
    widget = sg.explore(odd(), [2, 0.3, 7, 1])

    def hold(_):
        if widget.sample[2] is None:
            widget.sample = (*widget.sample[:2], 7, widget.sample[3])

    widget.observe(hold, "sample")
    widget.set_state({"_shown": {"turn": 1, "start": None, "values": [2, 0.6, None, 1]}})
    assert widget.sample == (2, 0.6, 7, 1)
    assert widget._shown == {"turn": 2, "start": [2, 0.6, 7, 1], "values": [2, 0.6, 7, 1]}


def test_without_a_notebook_it_says_how_to_open_the_page(page, tmp_path):
    widget = sg.explore(odd(), [2, 0.3, 7, 1], title="odd")
    assert 'save("page.html")' in repr(widget)
    widget.sample = [3, 0.3, None, -1]
    widget.save(tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    expect(by(page, "verdict")).to_contain_text(widget.prediction)
    assert page.evaluate("window.sugenet.state.values") == [3, 0.3, None, -1]


def test_without_anywidget_the_extra_is_named():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import sugenet as sg\n"
        "try: sg.explore(sg.models.digits(), [0] * 64)\n"
        "except sg.errors.SugenetError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "explore needs anywidget, which is not installed." in done.stdout
    assert 'pip install ".[notebook]"' in done.stdout


# -- in a browser --------------------------------------------------------------------------------------------


def test_clicks_become_the_sample_and_the_sample_moves_the_page(notebook, digits):
    network, X = digits
    widget = sg.explore(network, X[2], title="digits")
    told = []
    widget.observe(lambda change: told.append(change.new), "prediction")
    cell = notebook.show(widget)
    cell.locator('[data-feature="27"]').click()
    cell.locator('[data-feature="27"]').click()  # another class: see test_page
    notebook.settle()
    changed = X[2].tolist()
    changed[27] = values(cell)[27]
    assert changed[27] != X[2][27]
    assert widget.sample == tuple(changed)
    assert all(type(value) is int for value in widget.sample)
    assert widget.prediction == network.classes[network.predict([changed])[0]] != "2"
    assert told[-1] == widget.prediction
    expect(by(cell, "flipped")).to_have_text("You changed 1 pixel; the sample itself is 2.")

    widget.sample = X[7]
    notebook.settle()
    assert values(cell) == X[7].tolist()
    expect(by(cell, "verdict")).to_contain_text("3. ")
    expect(by(cell, "changed")).to_have_text("")
    assert widget.sample == tuple(X[7].tolist())
    for hidden in ("share", "to-lesson"):
        expect(by(cell, hidden)).to_be_hidden()


def test_exact_values_survive_the_way_there_and_back(notebook):
    network, quarter = odd(), Fraction(1, 4)
    widget = sg.explore(network, [2**70 + 1, quarter, "<b>red</b>", -1])
    cell = notebook.show(widget)
    cell.locator("body").evaluate("() => window.sugenet.state.set([[2, 1], [3, 1]])")
    notebook.settle()
    assert widget.sample == (2**70 + 1, quarter, None, 1)
    assert [type(value) for value in widget.sample] == [int, Fraction, type(None), int]
    cell.locator("body").evaluate("() => window.sugenet.state.set([[0, 0], [1, 2], [2, 2]])")
    notebook.settle()
    assert network.encoder.levels(np.array([widget.sample], dtype=object)).tolist() == [[0, 2, 2, 1]]
    assert [raw_value(value) for value in widget.sample] == values(cell)
    assert [type(value) for value in widget.sample] == [int, float, int, int]
    widget.sample = (2**60 + 1, Fraction(1, 2), 7, -1)
    notebook.settle()
    assert values(cell) == [str(2**60 + 1), 0.5, 7, -1]
    assert widget.sample == (2**60 + 1, Fraction(1, 2), 7, -1)


def test_one_widget_in_two_cells_and_another_beside_it(notebook, digits):
    network, X = digits
    widget, other = sg.explore(network, X[2]), sg.explore(network, X[3])
    first, third = notebook.show(widget), notebook.show(other)
    first.locator('[data-feature="27"]').click()
    notebook.settle()
    second = notebook.show(widget)  # displayed again: it shows what the first shows, and from which sample
    assert values(second) == values(first) == list(widget.sample) != X[2].tolist()
    expect(by(second, "changed")).to_have_text(by(first, "changed").inner_text())
    second.locator('[data-feature="12"]').click()
    notebook.settle()
    assert values(second) == values(first) == list(widget.sample)
    widget.sample = X[5]
    notebook.settle()
    assert values(second) == values(first) == X[5].tolist()
    assert values(third) == list(other.sample) == X[3].tolist()


def test_a_page_that_is_taken_out_and_put_back_shows_the_same(notebook, digits):
    network, X = digits
    widget = sg.explore(network, X[2], height=500)
    cell = notebook.show(widget)
    cell.locator('[data-feature="27"]').click()
    notebook.settle()
    notebook.page.evaluate("() => document.body.append(document.querySelector('iframe').parentNode)")
    expect(by(cell, "changed")).to_contain_text("1")
    assert values(cell) == list(widget.sample)
    assert notebook.page.locator("iframe").evaluate("frame => frame.offsetHeight") == 500
    widget.height = 400
    notebook.settle()
    assert notebook.page.locator("iframe").evaluate("frame => frame.offsetHeight") == 400


def test_each_side_listens_to_the_other_alone(notebook, digits):
    network, X = digits
    widget, other = sg.explore(network, X[2]), sg.explore(network, X[3])
    first, second = notebook.show(widget), notebook.show(other)
    say = {"sugenet": 1, "start": X[5].tolist(), "values": X[5].tolist()}
    body = second.locator("body")
    body.evaluate("(_, say) => window.parent.frames[0].postMessage({ ...say, sugenet: 2 }, '*')", say)
    body.evaluate("(_, say) => window.parent.postMessage(say, '*')", say)  # which its own widget may hear
    notebook.page.evaluate("(say) => window.postMessage(say, '*')", say)
    notebook.settle()
    assert list(other.sample) == X[5].tolist()
    assert values(first) == list(widget.sample) == X[2].tolist()


def test_the_policy_of_vs_code_leaves_it_whole(page, digits):
    network, X = digits
    widget = sg.explore(network, X[2])
    notebook = Notebook(page, VS_CODE)
    cell = notebook.show(widget)  # proved by a worker, which that policy must allow
    cell.locator('[data-feature="27"]').click()
    notebook.settle()
    assert list(widget.sample) == values(cell) != X[2].tolist()


# -- in JupyterLab -------------------------------------------------------------------------------------------

CELLS = [
    "import sugenet as sg\nX, _ = sg.models.samples('digits')\n"
    "page = sg.explore(sg.models.digits(), X[2])\npage",
    "print('clicked', page.sample[27], page.prediction)\npage.sample = X[7]",
    "print('set', page.prediction)",
]


@pytest.mark.slow
def test_in_jupyterlab(browser, tmp_path, digits):
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (pip install jupyterlab)")
    import nbformat

    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=spec), tmp_path / "t.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    lab = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *flags, f"--ServerApp.root_dir={tmp_path}"],
        env={**os.environ, **folders},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    context = browser.new_context()
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status")
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.goto(f"http://127.0.0.1:{port}/lab/tree/t.ipynb")

        def run(number):
            cell = page.locator(".jp-CodeCell").nth(number)
            prompt = cell.locator(".jp-InputPrompt")
            while not any(
                map(str.isdigit, prompt.inner_text())
            ):  # a kernel that starts may forget what it heard
                if prompt.inner_text() == "[ ]:":
                    cell.locator(".cm-content").click()
                    page.keyboard.press("Shift+Enter")
                page.wait_for_timeout(1000)

        page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for()
        run(0)
        cell = page.frame_locator(".jp-OutputArea iframe")
        by(cell, "state").filter(has_text="proved").wait_for()
        cell.locator('[data-feature="27"]').click()
        cell.locator('[data-feature="27"]').click()
        level = values(cell)[27]
        run(1)
        by(cell, "verdict").filter(has_text="3. No change").wait_for()
        run(2)
        said = page.locator(".jp-OutputArea-output pre")
        expect(said.nth(1)).to_have_text("set 3\n", timeout=30_000)
        network, X = digits
        clicked = [*X[2][:27].tolist(), level, *X[2][28:].tolist()]
        assert level != X[2][27]
        assert said.nth(0).inner_text().split() == ["clicked", str(level), str(network.predict([clicked])[0])]
    finally:
        context.close()
        lab.terminate()
        lab.wait(30)


def wait_for(address):
    for _ in range(200):
        try:
            urlopen(address).close()
            return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"{address} does not answer")
