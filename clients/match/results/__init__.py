"""Results of matches: journal, statistics, ratings and reports."""
