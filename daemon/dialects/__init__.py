"""The protocols a dialogue can be held in, each over a session, and the streams they use."""
