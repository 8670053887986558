"""The explorer of the shipped digits model in headless Chromium, opened from disk: ``python -m
benchmarks.explorer [--quick]``.

First verdict: from the start of the navigation until the large sentence says what is proved, by the page's
own clock. A flip: how long the browser is busy from a key on a pixel until the frame with the new class, race
and meters is drawn, which is script, layout and paint; the wait for the next refresh of a screen is not
counted, but shown beside it. After every flip the shown votes and class must be those of the model. The
page's size is without model and samples. Requests to anybody but the file itself are counted
over the whole run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import sugenet as sg
from benchmarks._measure import machine
from sugenet.web import page_html, payload
from sugenet.web.asking import precompute

NAMES = ("chromium", "google-chrome", "chromium-browser")
FLAGS = (
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
)

WATCH = """
window.verdictShown = new Promise((done, failed) => {
  let shown = null;
  const look = () => {
    const verdict = document.querySelector('[data-test="verdict"]');
    if (!verdict || !window.sugenet) return;
    shown = shown ?? performance.now();
    if (!/proved|refuted/.test(verdict.textContent)) return;
    observer.disconnect();
    done({ verdict: performance.now(), shown, sentence: verdict.textContent });
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true, characterData: true });
  setTimeout(() => failed(new Error('no verdict was shown')), 30000);
});
"""
"""Runs before the page's own scripts, and notes when its class and its first verdict stand there."""

FLIPS = """
async (count) => {
  const cells = [...document.querySelectorAll('[data-test="grid"] [data-feature]')];
  const { state, payload } = window.sugenet;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const drawn = () => new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  });
  const busy = [], waited = [];
  for (let i = 0; i < count; i++) {
    const cell = cells[(i * 29) % cells.length];
    cell.focus();
    await frame();
    await drawn();
    await new Promise((done) => setTimeout(done, 3 + (i * 7) % 13));  // somewhere between two frames
    let begun = 0;
    requestAnimationFrame(() => { begun = performance.now(); });  // the first callback of the next frame
    const start = performance.now();
    cell.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true }));
    const handled = performance.now();
    await frame();  // its last callback
    await drawn();  // behind layout and paint
    const end = performance.now();
    busy.push(handled - start + (end - begun));
    waited.push(end - start);
    const rows = [...document.querySelectorAll('[data-test="race-row"] .votes')];
    const shown = rows.map((votes) => parseInt(votes.textContent, 10));
    const meters = document.querySelectorAll('[data-test="neuron"]').length;
    const label = document.querySelector('[data-test="verdict"]').textContent.split('.')[0];
    const votes = [...state.result.votes];
    if (shown.join() !== votes.join() || label !== payload.classes[state.result.label] || !meters)
      throw new Error(`flip ${i}: page ${label} with ${shown}, model ${state.label} with ${votes}`);
  }
  return { busy, waited };
}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer openings and flips, within 50 s")
    quick = parser.parse_args().quick
    path = os.environ.get("SUGENET_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed, so there is nothing to measure with: pip install playwright")
        return 2
    if path is None:
        print(
            "no Chromium was found, so there is nothing to measure in: apt install chromium, "
            "or set SUGENET_CHROMIUM"
        )
        return 2
    X, y = sg.models.samples("digits")
    network = sg.models.digits()
    html = page_html(
        payload(network, X, y, title="digits", index=7, answers=precompute(network, X[7])), server=False
    )
    model = re.search(r'<script type="application/json" id="payload">(.*?)</script>', html, re.DOTALL)
    assert model is not None
    shell = (len(html.encode()) - len(model[1].encode())) / 1000
    busy, outside = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0, list[str]()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "digits.html"
        file.write_text(html, encoding="utf-8")
        browser = driver.chromium.launch(executable_path=path, args=[f"--{flag}" for flag in FLAGS])
        open_once(browser, file, outside)  # the first opening starts the browser's own processes
        opened = [open_once(browser, file, outside) for _ in range(7 if quick else 25)]
        flips = flip(browser, file, outside, 120 if quick else 600)
        browser.close()
    first = [found["verdict"] for found in opened]
    print(f"{machine()}; {busy:.1f} programs were running before")
    print(f"first sentence: {opened[-1]['sentence']}")
    print(f"{'':<44}{'best':>9}{'median':>9}{'worst':>9}")
    for name, row in (
        ("class shown, ms after opening the file", [found["shown"] for found in opened]),
        ("first proved verdict, ms", first),
        ("flip, ms of work until the frame is drawn", flips["busy"]),
        ("flip, ms with the wait for that frame", flips["waited"]),
    ):
        print(f"{name:<44}{min(row):>9.1f}{median(row):>9.1f}{max(row):>9.1f}")
    print(f"page without model and samples {shell:.1f} kB, with them {len(html.encode()) / 1000:.1f} kB")
    for url in outside:
        print(f"asked elsewhere: {url}")
    figures = {
        "first_verdict_ms": round(median(first), 1),
        "flip_ms": round(median(flips["busy"]), 2),
        "page_kB": round(shell, 1),
        "external_requests": len(outside),
    }
    print("RESULT " + json.dumps(figures))
    return 0


def new_page(browser: Any, outside: list[str]) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.on(
        "request",
        lambda request: (
            None if urlsplit(request.url).scheme in ("file", "blob", "data") else outside.append(request.url)
        ),
    )
    page.add_init_script(WATCH)
    return page


def open_once(browser: Any, file: Path, outside: list[str]) -> dict[str, Any]:
    page = new_page(browser, outside)
    page.goto(file.as_uri())
    found: dict[str, Any] = page.evaluate("window.verdictShown")
    page.context.close()
    return found


def flip(browser: Any, file: Path, outside: list[str], count: int) -> dict[str, list[float]]:
    page = new_page(browser, outside)
    page.goto(file.as_uri())
    page.evaluate("window.verdictShown")
    page.evaluate(FLIPS, 40)  # the engine compiles what is run often
    found: dict[str, list[float]] = page.evaluate(FLIPS, count)
    page.context.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
