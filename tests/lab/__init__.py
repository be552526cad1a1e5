"""The laboratory: experiments that are run from a checkout, `python tests/lab NAME ...`, and are not in the wheel."""
