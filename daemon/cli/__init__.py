"""The command line: sub-commands, the configuration file, the man page and completions.

Imported first by every process of the program, and by nothing else.
"""

import gc

# What a start allocates stays: collections before the first prompt would free nothing, and take a tenth of its time.
gc.set_threshold(50_000, 20, 50)
