"""Networks in C, compiled together into one program that reads raw samples and writes what it computes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sugenet.io.c99.layers import raw_type, sum_type
from sugenet.io.c99.writer import c_text
from sugenet.nn import Network, OneHot

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
SANE = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]


def compiler() -> str:
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("there is no gcc here")
    return found


def compiled(folder: Path, source: Path, *options: str) -> Path:
    """Compile with every warning an error; the program."""
    program = folder / "program"
    command = [compiler(), *STRICT, *SANE, *options, str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def given(network: Network, X: Any) -> np.ndarray:
    """Raw samples as the C file takes them: numbers, categories by their place."""
    rows = np.asarray(X, dtype=object)
    out = np.empty(rows.shape, np.float64)
    for feature, coding in enumerate(network.encoder.codings):
        column = rows[:, feature].tolist()
        out[:, feature] = (
            [coding.categories.index(value) for value in column]
            if isinstance(coding, OneHot)
            else np.array(column, dtype=np.float64)
        )
    return out


def evaluated(folder: Path, cases: Sequence[tuple[Network, Any]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Classes and match counts of the samples of each network, by one program made of all of them."""
    calls = []
    for number, (network, X) in enumerate(cases):
        prefix = f"net{number}"
        (folder / f"{prefix}.c").write_text(c_text(network, prefix), encoding="ascii")
        calls.append(
            _CALL.format(p=prefix, n=len(X), t=raw_type(network.encoder), k=sum_type(network.head.sizes))
        )
        given(network, X).tofile(folder / f"{prefix}.in")
    main = folder / "main.c"
    included = "".join(f'#include "net{i}.c"\n' for i in range(len(cases)))
    main.write_text(_MAIN % (included, "".join(calls)), encoding="ascii")
    done = subprocess.run([compiled(folder, main), folder], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    flat, out = np.frombuffer(done.stdout, np.int64), []
    for network, X in cases:
        width = 1 + network.head.outputs
        rows, flat = flat[: len(X) * width].reshape(len(X), width), flat[len(X) * width :]
        out.append((rows[:, 0], rows[:, 1:]))
    assert not len(flat)
    return out


_MAIN = r"""#include <stdio.h>
#include <stdint.h>
%s
int main(int argc, char **argv)
{
    char path[4096];
    FILE *file;
    if (argc != 2) return 2;
%s    return 0;
}
"""

_CALL = r"""    snprintf(path, sizeof path, "%s/{p}.in", argv[1]);
    file = fopen(path, "rb");
    if (!file) return 3;
    for (int i = 0; i < {n}; i++) {{
        double raw[{p}_FEATURES ? {p}_FEATURES : 1];
        {t} x[{p}_FEATURES ? {p}_FEATURES : 1];
        int64_t out[1 + {p}_CLASSES];
        {k} counts[{p}_CLASSES];
        if (fread(raw, sizeof *raw, {p}_FEATURES, file) != {p}_FEATURES) return 4;
        for (int f = 0; f < {p}_FEATURES; f++) x[f] = ({t})raw[f];
        out[0] = {p}_predict(x);
        for (int k = 0; k < {p}_CLASSES; k++) counts[k] = -1;
        (void){p}_match_counts(x, counts);
        for (int k = 0; k < {p}_CLASSES; k++) out[1 + k] = counts[k];
        fwrite(out, sizeof *out, 1 + {p}_CLASSES, stdout);
    }}
    fclose(file);
"""
