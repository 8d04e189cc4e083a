"""Real git servers on loopback: each on a free port, each ended when its block ends."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import getpass
import os
import shlex
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOOPBACK = "127.0.0.1"
_READY_SECONDS = 10.0
_TRIES = 3


def free_port() -> int:
    """A port nothing listens on; somebody may take it before it is used."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


class MarkedProcesses:
    """Finds the processes started under an environment that carries this mark."""

    def __init__(self) -> None:
        self._mark = f"HANDOFF_TEST_MARK={uuid.uuid4().hex}"

    def environment(self) -> dict[str, str]:
        """The variable to add to the environment of the run that is watched."""
        name, _, value = self._mark.partition("=")
        return {name: value}

    def left(self, patience: float = 1.0) -> list[str]:
        """Command lines of those that still run; ending ones get a moment to be gone."""
        deadline = time.monotonic() + patience
        while (found := self._alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def _alive(self) -> list[str]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ended, or is another user's
                if self._mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes()
                    found.append(command.replace(b"\0", b" ").decode(errors="replace"))
        return found


@contextlib.contextmanager
def _process(argv: list[str], environment: Mapping[str, str], port: int) -> Iterator[None]:
    """A server process in a group of its own, listening on ``port`` for the block's length."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            argv,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if not _listens(port, process):
                log.seek(0)
                raise ConnectionError(f"{argv[0]}: {log.read().decode(errors='replace')}")
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(2)


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return True
        time.sleep(0.01)
    return False


@contextlib.contextmanager
def git_daemon(
    folder: Path, environment: Mapping[str, str], *, writable: bool = True
) -> Iterator[str]:
    """``git daemon`` over the repositories in ``folder``; gives the address to put them after."""
    allow = ["--enable=receive-pack"] if writable else []
    for attempt in range(_TRIES):
        port = free_port()
        argv = [
            "git", "daemon", "--reuseaddr", f"--listen={LOOPBACK}", f"--port={port}",
            f"--base-path={folder}", "--export-all", *allow, str(folder),
        ]  # fmt: skip
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(_process(argv, environment, port))
            except ConnectionError:
                if attempt == _TRIES - 1:
                    raise
                continue
            yield f"git://{LOOPBACK}:{port}"
            return


# --- ssh ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SshServer:
    """A running sshd with one host key, letting one key in."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        """What an absolute path on this machine is put after."""
        return f"ssh://{getpass.getuser()}@{LOOPBACK}:{self.port}"

    @property
    def options(self) -> list[str]:
        """Options under which a client knows the host and is let in."""
        return self.client(self.folder / "user", self.folder / "known_hosts")

    @property
    def command(self) -> str:
        """The same as one command line, as core.sshCommand and GIT_SSH_COMMAND take it."""
        return shlex.join(["ssh", *self.options])

    def client(self, key: Path, known_hosts: Path) -> list[str]:
        """Options of a client that has this key and knows these hosts, and nothing else."""
        return [
            "-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
            "-o", f"UserKnownHostsFile={known_hosts}", "-o", "GlobalKnownHostsFile=/dev/null",
        ]  # fmt: skip


def make_key(path: Path, passphrase: str = "") -> str:
    """An ed25519 key pair at ``path``; returns the public line."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)],
        check=True,
    )
    return path.with_suffix(".pub").read_text().strip()


@contextlib.contextmanager
def ssh_server(folder: Path, environment: Mapping[str, str]) -> Iterator[SshServer]:
    """An sshd of this user's own: its keys and settings are in ``folder``, nothing else's."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("no sshd on this machine")
    folder.mkdir(exist_ok=True)
    host_key = make_key(folder / "host")
    (folder / "authorized").write_text(f"{make_key(folder / 'user')}\n")
    inside = {
        name: environment[name]
        for name in ("PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")
        if name in environment
    }
    for attempt in range(_TRIES):
        port = free_port()
        (folder / "known_hosts").write_text(f"[{LOOPBACK}]:{port} {host_key}\n")
        config = folder / "sshd_config"
        config.write_text(
            f"Port {port}\nListenAddress {LOOPBACK}\nPidFile none\nHostKey {folder}/host\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nAcceptEnv GIT_PROTOCOL\nUseDNS no\n"
            "KexAlgorithms curve25519-sha256\nPrintMotd no\nPrintLastLog no\n"  # the quick ones
            f"SetEnv {' '.join(f'{name}={value}' for name, value in inside.items())}\n"
        )
        argv = [program, "-D", "-e", "-f", str(config)]
        with contextlib.ExitStack() as stack:
            stack.enter_context(_privilege_folder(argv))
            try:
                stack.enter_context(_process(argv, environment, port))
            except ConnectionError:
                if attempt == _TRIES - 1:
                    raise
                continue
            yield SshServer(folder=folder, port=port)
            return


@contextlib.contextmanager
def _privilege_folder(argv: list[str]) -> Iterator[None]:
    """Started by root, sshd wants an empty folder that only its service makes: lend it one.

    Test runs side by side share it: each leaves a mark, and the last takes the folder away.
    """
    folder = Path("/run/sshd")
    if os.geteuid() != 0 or not folder.parent.is_dir():
        yield
        return
    mark = folder / f"handoff-test-{uuid.uuid4().hex}"
    with _alone(folder.parent):
        asked = subprocess.run([*argv, "-t"], capture_output=True, text=True, check=False)
        lent = str(folder) in asked.stderr or any(folder.glob("handoff-test-*"))
        if lent:
            folder.mkdir(mode=0o755, exist_ok=True)
            mark.touch()
    try:
        yield
    finally:
        with _alone(folder.parent), contextlib.suppress(OSError):
            if lent:
                mark.unlink()
                folder.rmdir()  # not empty while another run has its mark there


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# --- http ---------------------------------------------------------------------------------


@dataclass(kw_only=True)
class HttpServer:
    """``git http-backend`` behind a threaded server; what it does wrong is set here.

    ``users`` are name to password, none: open to all. ``answers`` are path endings to a
    status and body given instead of git's. ``silent`` are path endings never answered,
    ``swallowed`` those that git carries out while the client hears nothing.
    """

    folder: Path
    environment: Mapping[str, str]
    port: int = 0
    certificate: Path | None = None
    users: dict[str, str] = field(default_factory=dict)
    answers: dict[str, tuple[HTTPStatus, str]] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    swallowed: tuple[str, ...] = ()
    requests: list[str] = field(default_factory=list)
    chunked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        """What a repository's name is put after."""
        return f"http{'s' if self.certificate else ''}://{LOOPBACK}:{self.port}"

    def heal(self) -> None:
        """From now on do everything right."""
        self.answers, self.silent, self.swallowed = {}, (), ()


def make_certificate(path: Path) -> Path:
    """A self-signed certificate for loopback, in one file with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", f"/CN={LOOPBACK}",
            "-addext", f"subjectAltName=IP:{LOOPBACK}", "-keyout", str(path), "-out", str(path),
        ],
        capture_output=True,
        check=True,
    )  # fmt: skip
    return path


@contextlib.contextmanager
def http_server(
    folder: Path, environment: Mapping[str, str], *, certificate: Path | None = None
) -> Iterator[HttpServer]:
    """Serve the repositories in ``folder`` over HTTP, or with a certificate over HTTPS."""
    state = HttpServer(folder=folder, environment=environment, certificate=certificate)

    class Handler(_GitHandler):
        server_state = state

    with _QuietServer((LOOPBACK, 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake is left to the thread that serves the connection.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        state.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield state
        finally:
            state.closing.set()
            server.shutdown()
            thread.join()


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, or does not trust us, is what some tests are about."""


class _GitHandler(BaseHTTPRequestHandler):
    server_state: HttpServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        self.close_connection = True
        state = self.server_state
        state.requests.append(f"{self.command} {self.path}")
        body = self._body()
        if self.path.endswith(state.silent or ("\0",)):
            state.closing.wait()
            return
        for ending, (status, text) in state.answers.items():
            if self.path.endswith(ending):
                self._answer(status, [("Content-Type", "text/html")], text.encode())
                return
        if state.users and self._user() is None:
            challenge = [("WWW-Authenticate", 'Basic realm="hub"')]
            self._answer(HTTPStatus.UNAUTHORIZED, challenge, b"who are you?")
            return
        status, headers, content = self._backend(body)
        if self.path.endswith(state.swallowed or ("\0",)):
            state.closing.wait()
            return
        self._answer(status, headers, content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server_state.chunked.append(self.path)
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _user(self) -> str | None:
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "basic":
            return None
        name, _, password = base64.b64decode(value).decode().partition(":")
        return name if self.server_state.users.get(name) == password else None

    def _backend(self, body: bytes) -> tuple[HTTPStatus, list[tuple[str, str]], bytes]:
        path, _, query = self.path.partition("?")
        environment = {
            **self.server_state.environment,
            "GIT_PROJECT_ROOT": str(self.server_state.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(path),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": LOOPBACK,
            "REMOTE_USER": self._user() or "anyone",  # a named user may push
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [
            (name, value.strip())
            for name, _, value in (line.partition(":") for line in head.decode().splitlines())
        ]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        kept = [(name, value) for name, value in headers if name != "Status"]
        return HTTPStatus(int(status.split()[0])), kept, content

    def _answer(self, status: HTTPStatus, headers: list[tuple[str, str]], content: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # the client may have been ended meanwhile
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)


# --- servers that are no use ----------------------------------------------------------------


@contextlib.contextmanager
def useless_server(*, silent: bool) -> Iterator[int]:
    """A port that takes every connection, and then says nothing for ever, or hangs up."""
    closing = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if silent:
                closing.wait()

    with socketserver.ThreadingTCPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            closing.set()
            server.shutdown()
            thread.join()
