"""Training positions and their labels: generation, search scores, calibration."""
