"""ZMTP and CURVE from the listening side, connections, and bounded outboxes."""
