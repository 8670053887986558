"""Tables of rated alternatives, as files to work on."""

FLATS = """flat,light,quiet,way to work,kitchen,grade
Oak Street,good,ok,bad,ok,ok
Mill Lane,ok,good,good,bad,good
Harbour,very good,bad,ok,good,ok
Station,bad,bad,very good,ok,bad
Park Row,good,very good,ok,good,good
Old Town,very good,ok,good,very good,good
"""
NEW = """flat,light,quiet,way to work,kitchen
Hill Side,good,good,bad,very good
Canal,very good,ok,very good,bad
"""
MIXED = (
    FLATS
    + """Attic,good,good,very good,ok,ok
Cellar,bad,ok,ok,bad,good
"""
)
SCORES = """price,room,overall
0.3,0.7,0.5
0.1,1,0.2
0.9,0.4,0.6
"""
RENT = """rent,room,grade
900,large,bad
800,fair,bad
640.5,small,bad
600,fair,ok
580,large,ok
410,fair,good
450,large,good
300,small,ok
"""
RATED = {"flats": FLATS, "new": NEW, "mixed": MIXED, "scores": SCORES, "rent": RENT}
"""By name of the file, without its end."""
