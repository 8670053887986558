"""Tests of the command line begin as on a machine where nobody set the width of the terminal."""

import pytest


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
