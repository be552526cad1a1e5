"""What the site brings: the sub-command `book site`."""

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("book site", "write a book as pages that need no server", "desdaemon.book.site.cli"),),
)
