import numpy as np
import pytest

from sugenet.errors import EncodingError
from sugenet.fit import Settings, read_table, train


@pytest.fixture
def csv(tmp_path):
    def write(text, **options):
        file = tmp_path / "data.csv"
        file.write_text(text, **options)
        return file

    return write


def test_columns_find_their_kind(csv):
    table = read_table(
        csv(
            'id,age,size,colour,"answer, final"\n1,20,1.5,red,no\n2,30,2,"blue, dark",yes\n3,-4,1e3,red,no\n'
        ),
        "answer, final",
    )
    assert table.names == ("id", "age", "size", "colour")
    assert table.kinds == ("whole", "whole", "number", "category")
    assert table.X.tolist() == [[1, 20, 1.5, "red"], [2, 30, 2.0, "blue, dark"], [3, -4, 1000.0, "red"]]
    assert (table.y.tolist(), table.classes) == ([0, 1, 0], ("no", "yes"))
    assert str(table) == "3 samples of 4 columns (2 whole, 1 number, 1 category), classes no, yes"


def test_options(csv):
    file = csv("\ufeffid;age;kind\n1;20; 10 \n\n2;30;9\n", encoding="utf-8")
    table = read_table(file, "kind", ignore=["id"], delimiter=";")
    assert (table.names, table.classes, table.y.tolist()) == (("age",), ("9", "10"), [1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,x\n,y\n", r"data.csv: There are gaps .* in 2 rows: 'a' \(1\). Use missing='category'"),
        ("a,b\n1,x\n2,NA\n", "line 3, column 'b': the value is missing"),
        ("a,b\n1,x\n2,?\n", "line 3, column 'b': the value is missing .'.'."),
        ("a,b\n1,x\n2\n", "line 3: 1 cells, but the first line names 2 columns"),
        ('a,b\n"1\n",x\n2\n', "line 4: 1 cells"),
        (
            "a,b\n" + "1,x\n2,y\n" * 10 + "oh,y\n",
            "line 22, column 'a': 'oh' is not a number, as most of the column is",
        ),
        ("a,a,b\n1,2,x\n", "the column name 'a' occurs twice"),
        ("a,b\n", "data.csv has a line of names and no samples below it"),
        ("\n", "data.csv is empty"),
        ("b\nx\ny\n", "no column besides the target"),
        ('a,b\n"1,5",x\n2,y\n', "line 2, column 'a': '1,5' reads like a number with a comma in it"),
        ('a,b\n"1,234.5",x\n"2,000",y\n', "line 2, column 'a': '1,234.5' reads like a number"),
        (",b\n0,x\n1,y\n", "column 1 has no name in the first line. Name it, or leave it out with ignore=''"),
        ("a,b\n1,x\n2,x\n", "the target 'b' has 1 different values"),
        ("a,b\n" + "".join(f"1,{i}\n" for i in range(200)), "the target 'b' has 200 different values"),
        ("a,bb\n1,x\n", "no column 'b'. Did you mean 'bb'."),
        ('a,b\n1,"x\n', "data.csv, line 2: it cannot be read as CSV: unexpected end of data. A CSV file"),
    ],
)
def test_mistakes_are_named_with_their_place(text, message, csv):
    with pytest.raises(EncodingError, match=message):
        read_table(csv(text), "b")


def test_unreadable_files(tmp_path):
    with pytest.raises(EncodingError, match=r"none\.csv cannot be read"):
        read_table(tmp_path / "none.csv", "b")
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,x\n".encode("latin-1"))
    with pytest.raises(EncodingError, match=r"latin.csv cannot be read.*UTF-8"):
        read_table(tmp_path / "latin.csv", "b")
    (tmp_path / "good.csv").write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(EncodingError, match="no column 'c'"):
        read_table(tmp_path / "good.csv", "b", ignore=["c"])
    with pytest.raises(EncodingError, match="Name one at a time: ignore='a' ignore='b'"):
        read_table(tmp_path / "good.csv", "b", ignore=["a, b"])


def test_texts_with_commas_are_categories_and_what_is_left_out_needs_no_name(csv):
    table = read_table(csv(',pair,b\n0,"1,x",x\n1,"2,y",y\n'), "b", ignore=[""])
    assert (table.names, table.kinds) == (("pair",), ("category",))


def test_from_file_to_network(csv):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    lines = [
        f"{size:.2f},{colour},{'yes' if size > 0.5 or colour == 'red' else 'no'}"
        for size, colour in zip(rng.random(90), rng.choice(["red", "blue"], 90), strict=True)
    ]
    table = read_table(csv("size,colour,buy\n" + "\n".join(lines) + "\n"), "buy")
    trained = train(
        table.X,
        table.y,
        (8,),
        names=table.names,
        classes=table.classes,
        settings=Settings(epochs=20, batch=16),
    )
    assert trained.network.classes == ("no", "yes")
    assert trained.network.encoder.names == ("size", "colour")
    assert trained.comparison.differing == 0
    assert trained.network.predict(table.X[:3], engine="definition").shape == (3,)
