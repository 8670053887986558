"""Write messy.csv, an invented table of 5,000 clients as people have them: ``python examples/messy.py``.

It has semicolons, a byte order mark, gaps in several spellings, dates, texts, a city with 40 values, an
identifier, and a rare class. About 96 of 100 clients stay.
"""

import csv
from datetime import date, timedelta
from random import Random

CITIES = [
    a + b
    for a in ("North", "South", "East", "West")
    for b in ("bridge", "field", "ford", "gate", "ham", "haven", "mouth", "port", "ton", "wood")
]
GAPS = ["", "NA", "n/a", "NaN", "null", "?"]
HEADER = ["id", "age", "joined", "city", "plan", "paperless", "calls", "monthly_fee", "answer"]


def client(number: int, draw: Random) -> list[object]:
    """Return one row. Clients leave after many calls, if their plan is basic or their fee is high."""
    calls, plan = draw.choices(range(10), range(10, 0, -1))[0], draw.choice(["basic", "family", "premium"])
    fee = round(draw.uniform(10, 80), 2)
    leaves = calls >= 7 and (plan == "basic" or fee >= 70) and draw.random() < 0.9
    age = float(draw.randint(18, 90))  # pandas writes integers with gaps as 36.0
    joined = date(2015, 1, 1) + timedelta(draw.randrange(3650))
    row = [age, joined, draw.choice(CITIES), plan, draw.choice(["yes", "no"]), calls, fee]
    for index in (0, 1, 2, 6):
        if draw.random() < 0.03:
            row[index] = draw.choice(GAPS)
    return [f"C-{number:05}", *row, "leave" if leaves else "stay"]


if __name__ == "__main__":
    draw = Random(0)
    with open("messy.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows([HEADER, *(client(i, draw) for i in range(5000))])
