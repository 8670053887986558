"""``sugenet completion``: completion scripts for bash, zsh and fish, generated from the parser.

They complete commands, options, values and models.
"""

import argparse
from argparse import Namespace
from collections.abc import Callable, Iterator

from sugenet.cli.options import SHIPPED
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, Parser, option, options_of, positionals_of

__all__ = ["COMMANDS"]

_FILES = ("FILE", "SAMPLES", "CERTIFICATE", "DATA")
_MODELS = ("MODEL", "MODEL2", "SOURCE")


def _print_script(options: Namespace, screen: Screen) -> int:
    from sugenet.cli.commands import groups, parser_of_all

    descriptions = {name: one.about for commands in groups().values() for name, one in commands.items()}
    # a program, not a sentence: no line may be broken
    screen.put(_SHELLS[options.shell](descriptions, parser_of_all()[1]))
    return 0


def _kind(action: argparse.Action) -> str:
    """Return the kind of an option's or argument's value: models, files, one of some words, or something
    else.
    """
    if action.choices is not None:
        return "words"
    return "models" if action.metavar in _MODELS else "files" if action.metavar in _FILES else "other"


def _valued(parser: Parser, kind: str) -> Iterator[tuple[str, argparse.Action]]:
    """Return options with a value of that kind, by each of their spellings; optional values are left out."""
    for action in options_of(parser):
        if action.nargs not in (0, "?") and _kind(action) == kind:
            yield from ((flag, action) for flag in action.option_strings)


def _flags(parser: Parser) -> str:
    return " ".join(flag for action in options_of(parser) for flag in action.option_strings)


def _choices(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


# -- bash ----------------------------------------------------------------------------------------------------

_BASH = """\
# bash completion of sugenet. Once: eval "$(sugenet completion bash)"; always: put that line into ~/.bashrc.
_sugenet() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" IFS=$' \\t\\n' words="" kind=""
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$current"))
        return
    fi
    case "$command $before" in
{values}
    esac
    if [[ -z $kind && $current == -* ]]; then
        kind=words
        case "$command" in
{options}
        esac
    fi
    if [[ -z $kind ]]; then
        case "$command" in
{arguments}
        esac
    fi
    case "$kind" in
        words) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
        models)
            IFS=$'\\n'
            COMPREPLY=($(compgen -W "${{words// /$'\\n'}}" -- "$current") $(compgen -f -- "$current")) ;;
        files) IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current")) ;;
    esac
}}
complete -o filenames -F _sugenet sugenet"""


def _bash(commands: dict[str, str], parsers: dict[str, Parser]) -> str:
    models = " ".join(SHIPPED)
    values, options, arguments = [], [], []
    for name, parser in parsers.items():
        for kind, choices in (("models", models), ("files", ""), ("other", "")):
            pattern = "|".join(f'"{name} {flag}"' for flag, _ in _valued(parser, kind))
            values += [f'        {pattern}) kind={kind} words="{choices}" ;;'] if pattern else []
        values += [
            f'        "{name} {flag}") kind=words words="{_choices(action)}" ;;'
            for flag, action in _valued(parser, "words")
        ]
        options.append(f'            {name}) words="{_flags(parser)}" ;;')
        kinds = [(_kind(action), _choices(action)) for action in positionals_of(parser)]
        if kinds:  # all of them take files, some also models; words come alone
            kind = next((kind for kind in ("models", "words", "files") if kind in dict(kinds)), "other")
            arguments.append(
                f"            {name}) kind={kind} "
                f'words="{models if kind == "models" else dict(kinds)[kind]}" ;;'
            )
    parts = {"values": values, "options": options, "arguments": arguments}
    return _BASH.format(
        commands=" ".join(commands), **{part: "\n".join(lines) for part, lines in parts.items()}
    )


# -- zsh -----------------------------------------------------------------------------------------------------

_ZSH = """\
#compdef sugenet
# zsh completion of sugenet. Once: eval "$(sugenet completion zsh)"; always: put that line into ~/.zshrc,
# after compinit.
_sugenet_models() {{
    compadd -- {models}
    _files
}}
_sugenet() {{
    if ((CURRENT == 2)); then
        local -a commands=(
{commands}
        )
        _describe command commands
        _arguments '--help[show help]' '--version[show the version]'
        return
    fi
    local name="$words[2]"
    shift words
    ((CURRENT--))
    case "$name" in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sugenet "$@"; else compdef _sugenet sugenet; fi"""


def _zsh(commands: dict[str, str], parsers: dict[str, Parser]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("'", "'\\''") + "'"

    def plain(text: str) -> str:
        for letter in "\\:[]":
            text = text.replace(letter, f"\\{letter}")
        return text

    def action_of(action: argparse.Action) -> str:
        kinds = {
            "models": "_sugenet_models",
            "files": "_files",
            "words": f"({_choices(action)})",
            "other": " ",
        }
        return f":{plain(str(action.metavar or action.dest))}:{kinds[_kind(action)]}"

    lines = [
        f"            {quoted(f'{name}:{plain(description)}')}" for name, description in commands.items()
    ]
    cases = []
    for name, parser in parsers.items():
        specs = []
        for action in options_of(parser):
            for flag in action.option_strings:
                value = "" if action.nargs == 0 else ":" * (action.nargs == "?") + action_of(action)
                specs.append(quoted(f"*{flag}[{plain(action.help or '')}]{value}"))
        specs += [
            quoted({"?": ":", "+": "*"}.get(str(action.nargs), "") + action_of(action))
            for action in positionals_of(parser)
        ]
        cases.append(f"        {name}) _arguments {' '.join(specs)} ;;")
    return _ZSH.format(models=" ".join(SHIPPED), commands="\n".join(lines), cases="\n".join(cases))


# -- fish ----------------------------------------------------------------------------------------------------


def _fish(commands: dict[str, str], parsers: dict[str, Parser]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def value_of(action: argparse.Action) -> str:
        kinds = {
            "models": f" -r -F -a {quoted(' '.join(SHIPPED))}",
            "files": " -r -F",
            "words": f" -x -a {quoted(_choices(action))}",
            "other": " -x",
        }
        return "" if action.nargs in (0, "?") and action.option_strings else kinds[_kind(action)]

    lines = [
        "# fish completion of sugenet. Once: sugenet completion fish | source",
        "# Always: sugenet completion fish > ~/.config/fish/completions/sugenet.fish",
        "complete -c sugenet -f",
        "complete -c sugenet -n __fish_use_subcommand -l help -d 'show help'",
        "complete -c sugenet -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for name, parser in parsers.items():
        lines.append(f"complete -c sugenet -n __fish_use_subcommand -a {name} -d {quoted(commands[name])}")
        here = f"complete -c sugenet -n '__fish_seen_subcommand_from {name}'"
        for action in options_of(parser):
            names = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in action.option_strings
            )
            lines.append(f"{here} {names} -d {quoted(action.help or '')}{value_of(action)}")
        for kind in sorted({_kind(action) for action in positionals_of(parser)}):
            action = next(action for action in positionals_of(parser) if _kind(action) == kind)
            lines.append(here + value_of(action).replace(" -r", ""))
    return "\n".join(lines)


_SHELLS: dict[str, Callable[[dict[str, str], dict[str, Parser]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}

COMMANDS: Commands = {
    "completion": Command(
        _print_script,
        "print a completion script for a shell",
        ['eval "$(sugenet completion bash)"'],
        [option("shell", choices=list(_SHELLS), metavar="SHELL", help="shell")],
    ),
}
