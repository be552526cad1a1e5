"""The command line: sub-commands, options, man page and completions.

Each process of the program imports this package first; no other part imports it.
"""

import gc

INTERRUPTED = 130
"""Exit status after an interrupt."""

# Objects of the start stay. Collecting garbage before the first prompt would find none, and take a tenth of its time.
gc.set_threshold(50_000, 20, 50)
