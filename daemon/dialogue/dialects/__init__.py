"""The protocols of a dialogue (Edax's text, GTP, NBoard, XBoard, Cassio, JSON lines), each a thin layer over a
`Session`, and the standard streams that carry them.
"""
