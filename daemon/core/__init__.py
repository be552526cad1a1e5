"""The daemon's work, whoever asks for it: searches and their schedule, requests, the book, jobs, metrics."""
