"""What carries out the commands of the text protocol, books excepted."""
