"""Access keys: CURVE keys, each with a role, in a folder that only its owner can read.

`desdaemon keys` makes, lists and revokes them. A running daemon applies changes at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from desdaemon.core.paths import keys_folder, private_folder
from desdaemon.protocol.errors import BadInput, lacking, quoted
from desdaemon.protocol.rows import ADMIN, READER
from desdaemon.protocol.system import files, logs, platform
from desdaemon.protocol.system.locks import Held, alone
from desdaemon.protocol.wire.messages import ROLES
from desdaemon.server.transport import curve, sodium

USAGE = """\
desdaemon keys new NAME [--role reader|editor|admin] [--file FILE]
                        [--keys FOLDER]
        make a key for a client; the secret goes into FILE (NAME.key in the
        folder of keys)
desdaemon keys list [--keys FOLDER]
        the daemon's public key, and who may do what
desdaemon keys allow NAME PUBLIC-KEY [--role ROLE] [--keys FOLDER]
        let in a client that has made its own key, or change the role of one
desdaemon keys revoke NAME [--keys FOLDER]
        take a client's key back
"""

_ALLOWED = "allowed"
_LOCK = "allowed.lock"
_PATIENCE_S = 10.0
_LARGEST = 1 << 20
_SERVER = "server.key"
LOCAL = "local"
"""Name of the key for this user's own programs, on systems without ipc sockets."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FIELD = re.compile(r'^\s*([a-z-]+)\s*=\s*"([^"]*)"\s*$', re.MULTILINE)


class AllowedKey(NamedTuple):
    """A client that may connect; ``public`` is its public key in Z85."""

    name: str
    role: str
    public: str


class KeyStore:
    """A folder of keys: ``server.key``, the clients' keys, and ``allowed``, lines of name, role and public key."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._stamp: tuple[int, int] | None = None
        self._allowed: dict[str, AllowedKey] = {}

    @property
    def there(self) -> bool:
        """Whether the daemon has a key and at least one client is allowed. Raises `BadInput` if others can write the
        list of clients or it has a wrong line.
        """
        return (self.folder / _SERVER).exists() and bool(self.allowed())

    def allowed(self) -> dict[str, AllowedKey]:
        """Return the allowed clients by public key; {} without a file. It is the same dictionary until the file has
        changed and was read again. Raises `BadInput` if it cannot be read, others can write it or it has a wrong line.
        """
        path = self.folder / _ALLOWED
        try:
            status = path.stat()
        except FileNotFoundError:
            if self._stamp:
                self._stamp, self._allowed = None, {}
            return self._allowed
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}") from None
        if platform.open_to_others(status, 0o022):
            raise BadInput(f"{path}: others can change who may connect: chmod go-w it")
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._stamp:
            self._allowed = _read_allowed(path)
            self._stamp = stamp
        return self._allowed

    def server(self) -> tuple[str, str]:
        """Return the daemon's public and secret key (Z85); they are made if there are none. Raises `BadInput` if others
        can read the file, or it has no matching pair of keys.
        """
        path = self.folder / _SERVER
        if not path.exists():
            private_folder(str(self.folder))
            with self._alone():
                if not path.exists():
                    public, secret = _new_pair()
                    text = f'# the daemon\npublic-key = "{public}"\nsecret-key = "{secret}"\n'
                    _replace(path, text)
        if platform.open_to_others(path.stat(), 0o077):
            raise BadInput(f"{path}: others can read this secret key: chmod 600 it, or remove it for a new one")
        fields = dict(_FIELD.findall(_text_of(path)))
        public, secret = fields.get("public-key", ""), fields.get("secret-key", "")
        if not _is_key(public) or not _is_key(secret):
            raise BadInput(f"{path}: expected a file with public-key and secret-key, 40 characters of Z85 each")
        if sodium.public_key(curve.from_z85(secret)) != curve.from_z85(public):
            raise BadInput(f"{path}: the secret key does not match the public one: restore or remove the file")
        return public, secret

    def expect_made(self) -> None:
        """Raise `BadInput` if the daemon has no key yet."""
        if not (self.folder / _SERVER).exists():
            raise BadInput(f"{quoted(str(self.folder))}: no keys there: desdaemon keys new NAME makes the first")

    def new(self, name: str, role: str, file: str = "") -> Path:
        """Make a client's key and allow it. Returns the new file with the secret key: ``file``, or if that is ""
        ``NAME.key`` in the folder. Raises `BadInput` for a wrong name or role, a name in use, and a file that exists.
        """
        _check(name, role)
        server, _ = self.server()
        public, secret = _new_pair()
        path = Path(file) if file else self.folder / f"{name}.key"
        text = f'# {name}, {role}\nserver-key = "{server}"\npublic-key = "{public}"\nsecret-key = "{secret}"\n'
        with self._alone():
            if any(key.name == name for key in self.allowed().values()):
                raise BadInput(f"{quoted(name)}: a key has that name: revoke it first")
            _write_secret(path, text)
            try:
                self._write([*self.allowed().values(), AllowedKey(name, role, public)])
            except BadInput:
                path.unlink(missing_ok=True)
                raise
        return path

    def local(self) -> Path:
        """Return the file of an admin's key for this user's own programs, making the key if there is none. Raises
        `BadInput` if the keys cannot be used or made.
        """
        path = self.folder / f"{LOCAL}.key"
        is_allowed = any(client.name == LOCAL for client in self.allowed().values())
        if is_allowed and path.exists():
            return path
        if is_allowed:
            self.revoke(LOCAL)
        path.unlink(missing_ok=True)
        return self.new(LOCAL, ADMIN)

    def allow(self, name: str, public: str, role: str) -> None:
        """Allow a client's public key (Z85), or change the name and role of one that is allowed. Raises `BadInput` for
        a wrong name, key or role, and for the name of another key.
        """
        _check(name, role)
        if not _is_key(public):
            raise BadInput(f"{quoted(public)}: expected a public key of 40 characters (Z85)")
        self.server()
        with self._alone():
            others = [key for key in self.allowed().values() if key.public != public]
            if any(key.name == name for key in others):
                raise BadInput(f"{quoted(name)}: another key has that name: revoke it first")
            self._write([*others, AllowedKey(name, role, public)])

    def revoke(self, name: str) -> None:
        """Remove a client from the allowed ones. Raises `BadInput` if none has the name."""
        with self._alone():
            others = [key for key in self.allowed().values() if key.name != name]
            if len(others) == len(self.allowed()):
                raise BadInput(f"{quoted(name)}: no such key")
            self._write(others)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from changing the list, which is read and written as a whole. Raises `BadInput` if one
        does for `_PATIENCE_S`.
        """
        try:
            with alone(self.folder / _LOCK, _PATIENCE_S):
                self._stamp = None
                yield
        except Held as held:
            raise BadInput(f"{self.folder}: process {held.holder} is changing the keys") from None

    def _write(self, clients: list[AllowedKey]) -> None:
        lines = [f"{client.name} {client.role} {client.public}\n" for client in clients]
        text = "# name role public-key\n" + "".join(lines)
        _replace(self.folder / _ALLOWED, text)
        self._stamp = None


def _check(name: str, role: str) -> None:
    if not _NAME.fullmatch(name) or f"{name}.key" == _SERVER:
        raise BadInput(f"{quoted(name)}: expected a name of letters, digits and . _ @ -, at most 64")
    if role not in ROLES:
        raise BadInput(f"--role {quoted(role)}: expected one of {' '.join(ROLES)}")


def _new_pair() -> tuple[str, str]:
    public, secret = sodium.key_pair()
    return curve.z85(public), curve.z85(secret)


def _is_key(text: str) -> bool:
    try:
        return len(text) == 40 and len(curve.from_z85(text)) == sodium.KEY
    except ValueError:
        return False


def _replace(path: Path, text: str) -> None:
    try:
        files.replace(path, text.encode(), mode=files.PRIVATE)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def _write_secret(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, whatever the umask. Raises `BadInput` if that is impossible."""
    try:
        # So only one process takes the name.
        os.close(platform.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.PRIVATE))
        try:
            files.replace(path, text.encode())
        except OSError:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def _text_of(path: Path) -> str:
    """Return the text of a file. Raises `BadInput` if it cannot be read, is no regular file or too large."""
    try:
        with files.open_regular(path) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise BadInput(f"{path}: {lacking(error) or error.strerror}") from None
    if len(data) > _LARGEST:
        raise BadInput(f"{path}: expected at most {_LARGEST} bytes")
    return data.decode("utf-8-sig", "replace")


def _read_allowed(path: Path) -> dict[str, AllowedKey]:
    allowed: dict[str, AllowedKey] = {}
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        words = line.split("#", 1)[0].split() if line.startswith("#") else line.split()
        if not words:
            continue
        if len(words) != 3 or words[1] not in ROLES or not _is_key(words[2]):
            raise BadInput(f"{path}, line {number}: expected a name, a role and a public key")
        allowed[words[2]] = AllowedKey(*words)
    return allowed


def main(arguments: list[str]) -> int:
    """Run `desdaemon keys`. Returns the exit status: 2 for an unknown command, 1 if keys cannot be read or changed."""
    if arguments[:1] in (["--help"], ["-help"], ["-h"]):
        sys.stdout.write(USAGE)
        return 0
    try:
        words, options = _understood(arguments)
        keys = KeyStore(options.get("--keys") or keys_folder())
        if words[:1] == ["new"] and len(words) == 2:
            path = keys.new(words[1], options.get("--role", READER), options.get("--file", ""))
            _say(f"{path}: give this file to {words[1]}, whose role is {options.get('--role', READER)}")
        elif words == ["list"]:
            keys.expect_made()
            _say(f'server-key = "{keys.server()[0]}"')
            for client in keys.allowed().values():
                _say(f"{client.name:<24} {client.role:<8} {client.public}")
        elif words[:1] == ["allow"] and len(words) == 3:
            keys.allow(words[1], words[2], options.get("--role", READER))
            _say(f"{words[1]} may connect: its role is {options.get('--role', READER)}")
        elif words[:1] == ["revoke"] and len(words) == 2:
            keys.revoke(words[1])
            _say(f"{words[1]} may connect no more")
        else:
            logs.echo(USAGE)
            return 2
    except BadInput as error:
        logs.message(str(error), "desdaemon keys", level="error")
        return 1
    return 0


def _understood(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    words: list[str] = []
    options: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--role", "--file", "--keys"):
            if not equals and not waiting:
                raise BadInput(f"{name}: expected a value after it")
            options[name] = value if equals else waiting.pop(0)
        else:
            words.append(word)
    return words, options


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
