"""What changes a book: positions and games that are added, rounds of searches, results, scores by hand, shrinking."""
