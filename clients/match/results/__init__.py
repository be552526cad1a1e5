"""The results of matches: journal, statistics, ratings, reports."""
