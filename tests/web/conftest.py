"""A real browser: Debian's Chromium, driven by Playwright.

Every page must stay silent in the console and ask nobody else for anything.
"""

import os
import shutil
from urllib.parse import urlsplit

import pytest

import sugenet as sg
from sugenet.web import page_html, payload
from sugenet.web.bundle import bundled

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "google-chrome", "chromium-browser")


def _none(reason):
    if os.environ.get("SUGENET_NEEDS_BROWSER") == "1":
        pytest.fail(f"{reason}, but SUGENET_NEEDS_BROWSER=1 says that it must be there")
    pytest.skip(f"{reason}: browser tests are skipped")


@pytest.fixture(scope="session")
def browser():
    """Chromium, started once."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _none("playwright is not installed (pip install playwright)")
    path = os.environ.get("SUGENET_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _none("no Chromium was found (apt install chromium, or set SUGENET_CHROMIUM)")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


def stays_here(url):
    """Whether a request asks nobody but this machine."""
    parts = urlsplit(url)
    return parts.scheme in ("file", "blob", "data") or (
        parts.scheme == "http" and parts.hostname == "127.0.0.1"
    )


@pytest.fixture
def page(browser):
    """A page of its own context.

    At the end: no error in the console, none thrown, no request to anybody else.
    """
    context = browser.new_context()
    opened = context.new_page()
    errors, requests = [], []
    opened.on(
        "console",
        lambda message: errors.append(message.text) if message.type in ("error", "warning") else None,
    )
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    yield opened
    context.close()
    assert not errors
    assert [url for url in requests if not stays_here(url)] == []


@pytest.fixture(scope="session")
def digits_page():
    """The interactive page of the shipped digits model, as text."""
    X, y = sg.models.samples("digits")
    return page_html(payload(sg.models.digits(), X[:40], y[:40], title="digits", index=7), server=False)


@pytest.fixture(scope="session")
def digits_file(digits_page, tmp_path_factory):
    """The same on disk."""
    path = tmp_path_factory.mktemp("page") / "digits.html"
    path.write_text(digits_page, encoding="utf-8")
    return path


@pytest.fixture
def engine(page):
    """The engine in a blank page: a function that evaluates JavaScript in which the modules' names are known,
    with one argument.
    """
    page.add_script_tag(content=bundled("engine/worker.js"))
    return page.evaluate
