"""`desdaemon match`: games between programs, with a referee, clocks, Elo and a journal."""
