"""desdaemon: an Othello engine that runs as a long-lived daemon."""

__all__ = ["Analysis", "BadInput", "Board", "Engine", "Explorer", "Reason", "explain"]

# Like `typing.TYPE_CHECKING`, which a mere import of the package must not load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from desdaemon.api import Analysis, BadInput, Board, Engine
    from desdaemon.book.explorer.api import Explorer
    from desdaemon.engine.reasons.api import Reason, explain
    from desdaemon.protocol.version import __version__ as __version__
else:

    def __getattr__(name: str) -> object:
        """Return a name of `__all__`, loaded when it is first asked for."""
        if name in __all__:
            from desdaemon import api
            from desdaemon.protocol import satellites

            exports = {
                key: place for satellite in satellites.present("exports") for key, place in satellite.exports.items()
            }
            return satellites.load(exports[name]) if name in exports else getattr(api, name)
        if name == "__version__":
            from desdaemon.protocol import version

            return version.__version__
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
