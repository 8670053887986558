"""Completion scripts in real shells: bash always, zsh and fish where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from sugenet.cli import main
from sugenet.cli.commands import groups

COMMANDS = [name for commands in groups().values() for name in commands]


def script_of(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def bash(capsys, tmp_path):
    """What bash offers for the last of some words."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    script = script_of(capsys, "bash")
    (tmp_path / "my samples.csv").touch()
    (tmp_path / "mine.sugenet").touch()

    def offered(*words):
        asked = 'COMP_WORDS=(sugenet "$@")\nCOMP_CWORD=$#\n_sugenet\nprintf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{asked}", "bash", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_the_same_at_any_width(capsys, monkeypatch, shell):
    whole = script_of(capsys, shell)
    monkeypatch.setenv("COLUMNS", "40")
    assert script_of(capsys, shell) == whole


def test_bash_offers_commands(bash):
    assert bash("") == [*COMMANDS, "--help", "--version"]
    assert bash("w") == ["why", "whatif", "warm-up"]
    assert bash("zzz") == [""]


def test_bash_offers_options_of_the_command(bash):
    assert bash("verify", "digits", "--ham") == ["--hamming"]
    assert bash("predict", "digits", "--ham") == [""]
    assert {"--index", "--json", "--time-limit", "-o"} <= set(bash("why", "-"))


def test_bash_offers_values(bash):
    assert bash("whatif", "digits", "--cost", "L") == ["L0", "L1", "L2", "Linf"]
    assert bash("sweep", "digits", "--ask", "w") == ["whatif", "why"]
    assert bash("completion", "") == ["bash", "zsh", "fish"]
    assert bash("why", "digits", "--index", "") == [""]


def test_bash_offers_models_and_files(bash):
    assert sorted(bash("predict", "")) == ["breast_cancer", "digits", "mine.sugenet", "my samples.csv"]
    assert bash("predict", "my") == ["my samples.csv"]
    assert bash("verify", "digits", "--agree", "br") == ["breast_cancer"]
    assert bash("verify", "digits", "-o", "mi") == ["mine.sugenet"]
    assert bash("results", "mi") == bash("results", "mine.sugenet", "--check", "mi") == ["mine.sugenet"]
    assert bash("results", "mine.sugenet", "--model", "br") == ["breast_cancer"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_offers_commands_options_and_values(capsys, tmp_path):
    (tmp_path / "sugenet.fish").write_text(script_of(capsys, "fish"))

    def offered(line):
        code = f"source {tmp_path}/sugenet.fish; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert done.stderr == ""
        return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]

    assert offered("sugenet w") == ["warm-up", "whatif", "why"]
    assert offered("sugenet verify digits --ham") == ["--hamming"]
    assert offered("sugenet whatif digits --cost L") == ["L0", "L1", "L2", "Linf"]
    assert {"digits", "breast_cancer"} <= set(offered("sugenet predict "))


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_script(capsys, tmp_path):
    (tmp_path / "sugenet.zsh").write_text(script_of(capsys, "zsh"))
    code = f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/sugenet.zsh; print -- $_comps[sugenet]"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_sugenet\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_every_command_and_option(capsys, shell):
    script = script_of(capsys, shell)
    for word in (*COMMANDS, "hamming", "time-limit", "breast_cancer", "definition"):
        assert word in script


def test_the_script_comes_from_a_process_too():
    done = subprocess.run(
        [sys.executable, "-m", "sugenet", "completion", "bash"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("complete -o filenames -F _sugenet sugenet\n")
