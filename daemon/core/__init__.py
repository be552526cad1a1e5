"""The daemon's work for all kinds of clients: searches and their schedule, requests, the book, jobs, metrics."""
