"""State machines: events and the time go in, instructions come out. No I/O, clock, lock or thread.

Each belongs to a component that holds a lock or runs on one thread, tells the machine about events and carries out the
instructions. `story` keeps the last events of one for bug reports.
"""
