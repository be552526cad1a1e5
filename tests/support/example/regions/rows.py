"""What regions bring: a sub-command, an option, a text command, an operation."""

from desdaemon.protocol.rows import READER, Command, Operation, Option, Satellite, SubCommand
from desdaemon.protocol.wire.arguments import POSITION

LEAST = Option("regions-least", (), "int", "Squares of the smallest region shown.", 1, 60, edax=False, default=1)

SATELLITE = Satellite(
    sub_commands=(SubCommand("regions", "the regions of empty squares after a line", "desdaemon.regions.regions"),),
    options=(LEAST,),
    commands=(
        Command(
            "regions", (), "", "Show the regions of empty squares.", READER, handler="desdaemon.regions.regions:show"
        ),
    ),
    operations=(
        Operation(
            "regions.get",
            POSITION,
            READER,
            "The sizes of the regions of empty squares.",
            since="regions",
            handler="desdaemon.regions.regions:get",
        ),
    ),
    features={"regions": "`regions.get`: the regions of empty squares."},
)
