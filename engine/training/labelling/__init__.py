"""Training positions and their labels: generation, scores by search, calibration."""
