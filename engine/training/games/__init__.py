"""Games to train on."""
