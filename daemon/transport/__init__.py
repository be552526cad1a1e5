"""Messages over sockets: ZMTP with its CURVE security from the listening side, connections, and bounded outboxes."""
