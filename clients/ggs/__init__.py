"""A player on the Generic Game Server (GGS)."""
