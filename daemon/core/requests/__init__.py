"""The operations of structured requests, whatever carries them."""
