"""Harder questions: what was undecided, and what it takes today. One module a row of the table."""
