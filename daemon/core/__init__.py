"""The work of the daemon for clients of every kind: searches and their schedule, requests, the book, jobs, metrics."""
