"""The protocols that GUIs speak: GTP, NBoard's, XBoard's, Cassio's."""
