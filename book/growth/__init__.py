"""Commands that grow a book along its best lines, by own searches and games."""
