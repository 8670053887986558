"""The list of seeded faults: each names an expression that occurs once in its package."""

from pathlib import Path

from benchmarks.mutants import faults, file_of

ROOT = Path(__file__).parents[2]


def test_each_fault_changes_one_place():
    for fault in faults():
        assert fault.new != fault.old
        assert file_of(fault, ROOT / "src" / "sugenet").suffix == ".py"
        assert not fault.tests or (ROOT / fault.tests).is_file()
