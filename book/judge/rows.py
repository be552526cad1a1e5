"""What the judge brings: the sub-command `book judge`."""

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("book judge", "two books play each other, by one engine", "desdaemon.book.judge.cli"),),
)
