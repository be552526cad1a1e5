"""Small helps for who installs the program: `desdaemon doctor`, `desdaemon completions`."""
