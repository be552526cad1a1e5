"""What the protocols of GUIs print and parse. Pure: values in, text out."""
