"""What the interface for programs brings: a part of the gateway."""

from desdaemon.protocol.rows import Satellite, WebPart

SATELLITE = Satellite(
    web_parts=(WebPart("desdaemon.clients.http_api.options:add", "desdaemon.clients.http_api.options:part"),)
)
