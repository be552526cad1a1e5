"""The description of the interface: as OpenAPI, and as a page. Both are made from the tables of the wire protocol."""

from __future__ import annotations

from html import escape
from typing import Any

from desdaemon.protocol.version import __version__
from desdaemon.protocol.wire.schemas import argument_schema, fields_schema

from .positions import ANSWER, ANSWERED_MOVE, PARAMETERS
from .terms import Terms

_TITLE = "desdaemon: what an Othello position is worth"
_ERRORS = {
    "400": "A parameter is unknown, repeated or wrong, the board unreadable, or a move illegal.",
    "401": "The key is not known, or one is needed.",
    "404": "Nothing is known of the position.",
    "429": "Too many requests; Retry-After says when to ask again.",
    "503": "Too many requests wait, or the engine is away.",
}


def _about(terms: Terms) -> str:
    search = f"else by a search of at most {terms.search_ms} ms" if terms.search_ms else "nothing is searched"
    rate = f"An address may ask {terms.rate} times a minute without a key." if terms.rate else "A key is needed."
    return (
        "The best moves of a position with their scores, from the opening book and from analyses that are kept; "
        f"{search}. Scores are expected differences of discs at the end, seen from the side to move. {rate}"
    )


def description(terms: Terms) -> dict[str, Any]:
    """Return the description as an OpenAPI document."""
    answer = fields_schema(ANSWER)
    answer["properties"]["moves"]["items"] = fields_schema(ANSWERED_MOVE)
    texts = {"type": "string"}
    error = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"code": texts, "message": texts, "field": texts},
                "required": ["code", "message"],
            }
        },
        "required": ["error"],
    }
    failures = {
        status: {"description": help, "content": {"application/json": {"schema": error}}}
        for status, help in _ERRORS.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": __version__, "description": _about(terms)},
        "paths": {
            "/api/v1/position": {
                "get": {
                    "summary": "What a position is worth",
                    "security": [{}, {"key": []}],
                    "parameters": [
                        {"name": argument.name, "in": "query", "schema": argument_schema(argument)}
                        for argument in PARAMETERS
                    ],
                    "responses": {
                        "200": {
                            "description": "What is known. ETag and Cache-Control say how long it holds.",
                            "content": {"application/json": {"schema": answer}},
                        },
                        **failures,
                    },
                }
            }
        },
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def page(terms: Terms) -> str:
    """Return the description as a page for people."""
    rows = [(argument.name, argument_schema(argument)["description"]) for argument in PARAMETERS]
    parameters = "".join(f"<tr><th>{escape(name)}<td>{escape(help)}" for name, help in rows)
    errors = "".join(f"<tr><th>{status}<td>{escape(help)}" for status, help in _ERRORS.items())
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{_TITLE}</title><h1>{_TITLE}</h1>'
        f"<p>{escape(_about(terms))}<p><code>GET /api/v1/position?moves=f5d6c3</code>"
        f"<table>{parameters}</table><p>What cannot be answered is an error in JSON:<table>{errors}</table>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>.\n'
    )
