"""The book of the process: its service, jobs on it, and its commands as text and as wire operations."""
