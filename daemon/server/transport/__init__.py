"""ZMTP and its CURVE security from the listening side, connections, and bounded outboxes."""
