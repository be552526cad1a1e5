"""Files of others: lists of openings."""
