"""The work of the daemon for every kind of client: searches and their schedule, requests, the one book, jobs, metrics."""
