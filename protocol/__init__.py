"""The vocabulary shared by the daemon and its clients: squares, boards, games and messages. Pure Python."""
