"""The web server of `hlo explore`: takes texts from a browser, and answers with pages.

It listens on the loopback interface alone. Every address begins with a token that nobody else
knows, and requests for another host are refused, so other pages of the browser reach nothing. The
last few pages are kept, in memory.
"""

from __future__ import annotations

import dataclasses
import json
import socket
from collections import OrderedDict
from importlib import import_module
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Final, cast

from hlo.errors.error import HloError
from hlo_tools.exercises.exercise import course_folder
from hlo_tools.explore.work import ExploredText, Workers

PARTS: Final = Path(__file__).with_name("parts")
LOOPBACK: Final = "127.0.0.1"
LONGEST: Final = 2_000_000
KEPT: Final = 4
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
TYPES: Final = {"js": "text/javascript", "css": "text/css", "html": "text/html"}


class Explorer:
    """The pages of one `hlo explore`.

    Parameters
    ----------
    workers : who show texts.
    port : to listen on; 0 for a free one.

    Raises
    ------
    HloError
        HLO200 if the port is taken, or the server library is not installed.
    """

    def __init__(self, workers: Workers, port: int = 0) -> None:
        self.workers = workers
        self.token = token_urlsafe(16)
        self.pages: OrderedDict[int, str] = OrderedDict()
        self._bottle, self._waitress = (_library(name) for name in ("bottle", "waitress"))
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self.app: Any = self._bottle.Bottle()
        for method, path, function in (
            ("GET", "/", self.start),
            ("GET", "/part/<name>", self.part),
            ("POST", "/show", self.show),
            ("GET", "/page/<number:int>", self.page),
            ("GET", "/chapters", self.chapters),
            ("GET", "/chapter/<name>", self.chapter),
        ):
            self.app.route(f"/{self.token}{path}", method, self._guarded(function))

    @property
    def address(self) -> str:
        """The address for a browser, with the token."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer until the process is interrupted."""
        self._server: Any = self._waitress.create_server(
            self.app, sockets=[self._socket], threads=8, max_request_body_size=LONGEST
        )
        self._server.run()

    def close(self) -> None:
        """Stop answering, and end the worker that runs."""
        self.workers.end()
        self._server.close()

    # --------------------------------------------------------------- requests

    def start(self) -> str:
        """The page with the editor."""
        return self.part("explore.html")

    def part(self, name: str) -> str:
        """A file of the page."""
        path = PARTS / name
        if path.name != name or not path.is_file():
            raise self._bottle.HTTPError(404)
        self._typed(path.suffix[1:])
        self._bottle.response.set_header("Content-Security-Policy", POLICY)
        return path.read_text("utf-8")

    def show(self) -> dict[str, Any]:
        """The address of a text's page, or the errors of the text."""
        asked: Any = self._bottle.request.json
        wanted = _wanted(asked)
        if wanted is None:
            raise self._bottle.HTTPError(400)
        page = self.workers.show(wanted)
        answer = {**dataclasses.asdict(page), "page": None}
        if page.page:
            number = next(reversed(self.pages), 0) + 1
            self.pages[number] = page.page
            answer["page"] = f"page/{number}"
            while len(self.pages) > KEPT:
                self.pages.popitem(last=False)
        return answer

    def page(self, number: int) -> str:
        """A page of the viewer that was made before."""
        if number not in self.pages:
            raise self._bottle.HTTPError(404)
        self._typed("html")
        return self.pages[number]

    def chapters(self) -> str:
        """The names of the course's chapters."""
        self._bottle.response.content_type = "application/json"
        return json.dumps([path.stem for path in _chapters()])

    def chapter(self, name: str) -> str:
        """The text of a chapter."""
        for path in _chapters():
            if path.stem == name:
                self._bottle.response.content_type = "text/plain; charset=utf-8"
                return path.read_text("utf-8")
        raise self._bottle.HTTPError(404)

    def _typed(self, suffix: str) -> None:
        self._bottle.response.content_type = f"{TYPES.get(suffix, 'text/plain')}; charset=utf-8"

    def _guarded(self, function: Any) -> Any:
        """A request that is answered for this host alone, and never from a cache."""

        def answer(**parts: Any) -> Any:
            if self._bottle.request.get_header("Host") != f"{LOOPBACK}:{self.port}":
                raise self._bottle.HTTPError(403)
            self._bottle.response.set_header("Cache-Control", "no-store")
            self._bottle.response.set_header("X-Content-Type-Options", "nosniff")
            self._bottle.response.set_header("Referrer-Policy", "no-referrer")
            return function(**parts)

        return answer


def _wanted(asked: Any) -> ExploredText | None:
    """The text that a request sends; None if its fields are of other types."""
    if not isinstance(asked, dict) or "runs_python" not in asked:
        return None
    fields = cast("dict[str, Any]", asked)
    words = {key: fields.get(key, "") for key in ("text", "passes", "target")}
    if not all(isinstance(word, str) for word in words.values()):
        return None
    words["target"] = words["target"] or "cpu"
    return ExploredText(
        **words, assembly=fields.get("assembly") is True, runs_python=fields["runs_python"] is True
    )


def _chapters() -> list[Path]:
    try:
        return sorted(course_folder().glob("[0-9]*.md"))
    except HloError:
        return []


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        note = "pip install 'pyhlo[explore]'"
        raise HloError("HLO200", f"{name} is not installed", notes=[note]) from None


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise HloError("HLO200", f"cannot listen on port {port}: {error}") from None
    listener.listen()
    return listener
