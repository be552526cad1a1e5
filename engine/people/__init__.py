"""People's moves: how likely people of a rating choose them, an opponent who plays, and errs, as they do, and one who
leaves them few good replies.
"""
