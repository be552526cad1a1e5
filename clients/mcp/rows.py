"""What the server of the Model Context Protocol brings: a sub-command."""

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(
        SubCommand("mcp", "tools for language models (Model Context Protocol)", "desdaemon.clients.mcp.mcp"),
    ),
)
