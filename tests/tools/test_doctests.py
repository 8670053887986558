"""Examples of a page get the outputs that they have; what needs a person is named."""

from tools.doctests import rewritten

PAGE = """# Page

```pycon
>>> 1 + 1
3
>>> for word in ("a", "", "b"):
...     print(word)
old
>>> print("a   b")
a b
>>> int("x")
Traceback (most recent call last):
KeyError: no

```
"""


def test_outputs_are_replaced_and_nothing_else():
    text, left = rewritten(PAGE, "page")
    assert text == PAGE.replace("3\n", "2\n", 1).replace("old\n", "a\n<BLANKLINE>\nb\n")
    assert [line.split(":")[0] for line in left] == ['int("x")']
    assert rewritten(text, "page")[0] == text
