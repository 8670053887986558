"""Write examples/loans.csv, the made-up table of the first tutorial: ``python -m tools.loans``."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

HEADER = ["age", "income", "debt", "years_employed", "owns_home", "purpose", "decision"]


def applicant(draw: Random) -> list[object]:
    """One row: incomes and debts in thousands a year, and a decision that is nearly a rule."""
    age = draw.randint(19, 70)
    years = draw.randint(0, min(30, age - 18))
    income = round(draw.uniform(12, 60) + years, 1)
    debt = round(draw.uniform(0, 40), 1)
    home = draw.random() < 0.2 + age / 120
    purpose = draw.choice(["car", "home", "study"])
    points = income - 1.2 * debt + 8 * home + 0.5 * years - (6 if purpose == "car" else 0) + draw.gauss(0, 3)
    decision = "granted" if points > 18 else "refused"
    return [age, income, debt, years, "yes" if home else "no", purpose, decision]


if __name__ == "__main__":
    draw = Random(0)
    with open(Path(__file__).parents[1] / "examples" / "loans.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *(applicant(draw) for _ in range(600))])
