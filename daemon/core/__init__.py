"""What the daemon does, whoever asks: searches and their schedule, requests, the one book and its jobs, metrics."""
