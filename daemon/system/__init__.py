"""Small services of the operating system: logging and folders."""
