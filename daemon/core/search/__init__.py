"""The engines, and the schedule of the searches that use them."""
