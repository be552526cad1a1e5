"""People's moves: how likely people of a rating choose them, and an opponent who plays, and errs, as they do."""
