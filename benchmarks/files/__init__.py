"""What people have on their disks: each kind of file written with its own tool, and read or told the way.

One module a family of sources; each has a function ``kinds()``.
"""
