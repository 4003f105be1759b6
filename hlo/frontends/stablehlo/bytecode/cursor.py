"""A place in a file of bytes, and the numbers that are there."""

from __future__ import annotations

from hlo.wording import counted

_ALIGNED = 0x80  # the bit of a section's number that says that its content is aligned
_PADDING = 0xCB
_MOST_ALIGNED = 4096


class BrokenError(Exception):
    """The bytes are no bytecode."""


class Cursor:
    """Reads a file from some byte on; each function moves on.

    Parameters
    ----------
    raw : all bytes of the file.
    at, end : what is read; by default all.
    """

    def __init__(self, raw: bytes, at: int = 0, end: int | None = None) -> None:
        self._raw, self._at = raw, at
        self._end = len(raw) if end is None else end

    @property
    def is_at_end(self) -> bool:
        """Whether all is read."""
        return self._at >= self._end

    def broken(self, problem: str) -> BrokenError:
        """The error for this place."""
        return BrokenError(f"{problem}, at byte {self._at}")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > self._end - self._at:
            raise self.broken(f"it ends too early: {counted(count, 'byte')} must follow")
        self._at += count
        return self._raw[self._at - count : self._at]

    def part(self, count: int) -> Cursor:
        """A cursor for the next bytes."""
        self.take(count)
        return Cursor(self._raw, self._at - count, self._at)

    def again(self) -> Cursor:
        """Another cursor for the bytes that are left."""
        return Cursor(self._raw, self._at, self._end)

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """An integer without sign: zeros at the end of the first byte count those that follow."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if not first:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return int.from_bytes(bytes([first]) + self.take(more), "little") >> more + 1

    def signed(self) -> int:
        """An integer whose last bit is its sign."""
        number = self.number()
        return number >> 1 ^ -(number & 1)

    def flagged(self) -> tuple[int, bool]:
        """An integer, and the truth value that is its last bit."""
        number = self.number()
        return number >> 1, bool(number & 1)

    def signed_list(self) -> tuple[int, ...]:
        """Integers after their number."""
        return tuple(self.signed() for _ in range(self.count()))

    def count(self) -> int:
        """The number of things that follow, which take a byte each at least."""
        number = self.number()
        if number > self._end - self._at:
            raise self.broken(f"{number} things are announced, and fewer bytes follow")
        return number

    def blob(self) -> bytes:
        """Bytes after their number."""
        return self.take(self.number())

    def text(self) -> str:
        """Text up to a zero byte."""
        end = self._raw.find(b"\0", self._at, self._end)
        if end < 0:
            raise self.broken("a text does not end")
        text = self.take(end - self._at)
        self.take(1)
        return text.decode("utf-8", "surrogateescape")

    def section(self) -> tuple[int, Cursor]:
        """The number of a section, and a cursor for its content."""
        kind, size = self.byte(), self.number()
        if kind & _ALIGNED:
            alignment = self.number()
            if alignment.bit_count() != 1 or alignment > _MOST_ALIGNED:
                raise self.broken(f"a section is aligned to {alignment} bytes")
            while self._at % alignment:
                if self.byte() != _PADDING:
                    raise self.broken("a section's padding is wrong")
        return kind & ~_ALIGNED, self.part(size)
