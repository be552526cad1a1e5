"""How few lines of a book a side must know: the numbers of Umigame."""
