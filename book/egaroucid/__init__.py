"""Books of Egaroucid: .egbk3, and the older .egbk2 and .egbk to read."""
