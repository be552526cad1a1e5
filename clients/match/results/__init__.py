"""What matches come to: their journal, statistics, ratings and reports."""
