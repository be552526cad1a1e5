"""The game: rules, notation, problems, names of openings, pictures of boards. Pure Python."""
