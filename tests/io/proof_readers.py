"""Small checkers of OPB and VeriPB, DRAT, LRAT and XLRUP files, from the formats' descriptions alone.

They share nothing with the writer. Each raises `RejectedError` unless the proof ends in a contradiction.
"""

from __future__ import annotations

import re
from collections import Counter


class RejectedError(Exception):
    """The proof is not accepted."""


def need(holds, why):
    if not holds:
        raise RejectedError(why)


# -- pseudo-Boolean ------------------------------------------------------------------------------------------


def literal_of(name):
    found = re.fullmatch(r"(~?)x([1-9][0-9]*)", name)
    need(found, f"no literal: {name}")
    return -int(found[2]) if found[1] else int(found[2])


def normal(terms, least):
    """Positive coefficients of literals, each variable once: a dictionary and the degree."""
    weights = Counter()
    for weight, literal in terms:
        if literal < 0:
            least -= weight
            weight, literal = -weight, -literal
        weights[literal] += weight
    found = {}
    for variable, weight in weights.items():
        if weight:
            found[variable if weight > 0 else -variable] = abs(weight)
            least += max(-weight, 0)
    return found, least


def read_inequality(text):
    need(text.endswith(" ;"), f"no end: {text}")
    left, sign, right = text[:-2].rpartition(">=")
    need(sign, f"no sign: {text}")
    words = left.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return normal([(int(weight), literal_of(name)) for weight, name in pairs], int(right))


def read_opb(text):
    lines = text.splitlines()
    head = re.fullmatch(r"\* #variable= ([0-9]+) #constraint= ([0-9]+)", lines[0])
    need(head, "no head")
    rows = [read_inequality(line) for line in lines[1:] if not line.startswith("*")]
    need(len(rows) == int(head[2]), "another number of constraints")
    need(all(abs(x) <= int(head[1]) for row, _ in rows for x in row), "a variable too many")
    return int(head[1]), rows


def contradicts(rows, assumed):
    """Whether propagation over constraints ends in a contradiction."""
    true = set(assumed)
    if any(-x in true for x in true):
        return True
    changed = True
    while changed:
        changed = False
        for weights, least in rows:
            slack = sum(weight for x, weight in weights.items() if -x not in true) - least
            if slack < 0:
                return True
            new = {x for x, weight in weights.items() if weight > slack and x not in true and -x not in true}
            changed |= bool(new)
            true |= new
    return False


def add(one, two):
    terms = [(weight, x) for row, _ in (one, two) for x, weight in row.items()]
    return normal(terms, one[1] + two[1])


def polish(words, rows):
    stack = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "+":
            stack.append(add(stack.pop(), stack.pop()))
        elif word in ("*", "d"):
            factor, (row, least) = stack.pop(), stack.pop()
            need(isinstance(factor, int) and factor > 0, "no factor")
            if word == "*":
                stack.append(({x: weight * factor for x, weight in row.items()}, least * factor))
            else:
                stack.append(({x: -(-weight // factor) for x, weight in row.items()}, -(-least // factor)))
        elif word == "s":
            row, least = stack.pop()
            stack.append(({x: min(weight, max(least, 0)) for x, weight in row.items() if least > 0}, least))
        elif "x" in word:
            stack.append(({literal_of(word): 1}, 0))
        elif after in ("*", "d"):
            stack.append(int(word))
        else:
            need(1 <= int(word) <= len(rows), f"no constraint {word}")
            stack.append(rows[int(word) - 1])
    need(len(stack) == 1 and isinstance(stack[0], tuple), "the stack is not one constraint")
    return stack[0]


def check_veripb(formula, proof):
    """Check a proof of version 2.0; give the number of its steps."""
    variables, rows = read_opb(formula)
    lines = proof.splitlines()
    need(lines[0] == "pseudo-Boolean proof version 2.0", "no head")
    need(lines[1] == f"f {len(rows)}", "another formula")
    need(lines[-3] == "output NONE" and lines[-1] == "end pseudo-Boolean proof", "no end")
    for line in lines[2:-3]:
        rule, _, rest = line.partition(" ")
        if rule == "pol":
            rows.append(polish(rest.split(), rows))
            continue
        need(rule == "rup", f"no rule: {line}")
        row, least = read_inequality(rest)
        need(all(abs(x) <= variables for x in row), "a variable too many")
        contrary = normal([(-weight, x) for x, weight in row.items()], 1 - least)
        need(contradicts([*rows, contrary], ()), f"does not follow: {line}")
        rows.append((row, least))
    found = re.fullmatch(r"conclusion UNSAT : ([0-9]+)", lines[-2])
    need(found and 1 <= int(found[1]) <= len(rows), "no conclusion")
    row, least = rows[int(found[1]) - 1]
    need(sum(row.values()) < least, "the last constraint is not a contradiction")
    return len(lines) - 5


# -- clauses -------------------------------------------------------------------------------------------------


def read_cnf(text):
    """Variables, clauses, and counting constraints as (literals, least, literal)."""
    lines = text.splitlines()
    head = lines[0].split()
    need(head[:2] == ["p", "cnf"] and len(head) == 4, "no head")
    clauses, counting = [], []
    for line in lines[1:]:
        words = line.split()
        numbers = [int(word) for word in words[words[0] == "b" :]]
        need(all(abs(x) <= int(head[2]) or words[0] == "b" for x in numbers), "a variable too many")
        need(numbers[-1] == 0 and numbers.count(0) == 1 + (words[0] == "b"), f"no end: {line}")
        if words[0] == "b":
            end = numbers.index(0)
            need(len(numbers) == end + 4 and numbers[end + 1] >= 0, f"no counting constraint: {line}")
            counting.append((numbers[:end], numbers[end + 1], numbers[end + 2]))
        else:
            clauses.append(numbers[:-1])
    need(len(clauses) + len(counting) == int(head[3]), "another number of clauses")
    return int(head[2]), clauses, counting


def check_drat(formula, proof):
    """Check a proof whose lemmas all follow by unit propagation; give their number."""
    variables, clauses, counting = read_cnf(formula)
    need(not counting, "DRAT is about clauses alone")
    rows = [normal([(1, x) for x in dict.fromkeys(clause)], 1) for clause in clauses]
    lines = proof.splitlines()
    for line in lines:
        *lemma, end = map(int, line.split())
        need(end == 0 and all(1 <= abs(x) <= variables for x in lemma), f"no lemma: {line}")
        need(contradicts(rows, [-x for x in lemma]), f"does not follow: {line}")
        rows.append(normal([(1, x) for x in dict.fromkeys(lemma)], 1))
    need(lines and lines[-1].split() == ["0"], "no empty clause at the end")
    return len(lines)


def check_hinted(formula, proof):
    """Check an LRAT proof without RAT steps, or an XLRUP proof; give the number of its lines."""
    _, given, counting = read_cnf(formula)
    clauses = dict(enumerate(given, start=1))
    named, empty = {}, False
    for line in proof.splitlines():
        words = line.split()
        if words[:2] == ["o", "b"]:
            numbers = list(map(int, words[3:]))
            end = numbers.index(0)
            row = (numbers[:end], numbers[end + 1], numbers[end + 2])
            need(row in counting and numbers[end + 3 :] == [0], f"not in the formula: {line}")
            named[int(words[2])] = row
        elif words[:2] == ["i", "cb"]:
            need(words[-2:] == ["u", "0"], f"no end: {line}")
            numbers = list(map(int, words[3:-2]))
            end = numbers.index(0)
            need(len(numbers) == end + 2 and numbers[end + 1] in named, f"no constraint: {line}")
            need(is_counted(numbers[:end], *named[numbers[end + 1]]), f"does not follow: {line}")
            clauses[int(words[2])] = numbers[:end]
        elif words[1] == "d":
            for word in words[2:-1]:
                need(clauses.pop(int(word), None) is not None, f"no clause {word}")
        else:
            number, *numbers = map(int, words)
            end = numbers.index(0)
            need(numbers[-1] == 0 and numbers.count(0) == 2, f"no end: {line}")
            need(number not in clauses, f"a number twice: {line}")
            need(is_hinted(numbers[:end], numbers[end + 1 : -1], clauses), f"does not follow: {line}")
            clauses[number] = numbers[:end]
            empty |= end == 0
    need(empty, "no empty clause")
    return len(proof.splitlines())


def is_hinted(clause, hints, clauses):
    false = set(clause)
    for hint in hints:
        if hint not in clauses:
            return False
        left = [x for x in clauses[hint] if x not in false]
        if not left:
            return True
        if len(left) > 1:
            return False
        false.add(-left[0])
    return False


def is_counted(clause, literals, least, output):
    """Whether the constraint is violated whenever all literals of the clause are false."""
    false = set(clause)
    if not {output, -output} & false or any(-x in false for x in false):
        return False
    most = sum(x not in false for x in literals)
    sure = sum(-x in false for x in literals)
    return sure >= least if output in false else most < least
