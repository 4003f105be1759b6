"""The pictures of packages in `docs/map.md`: which imports they show, and that they are current."""

from pathlib import Path

import pytest

from hlo_tools.drawing.graphs.house import PACKAGES, house, room

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_is_in_its_picture(package: str) -> None:
    """`make docs` draws them anew."""
    text = (PICTURES / f"room_{package}.svg").read_text()
    for path in (ROOT / package).glob("*/__init__.py"):
        assert f">{path.parent.name}</text>" in text
    assert f"](pictures/room_{package}.svg)" in (ROOT / "docs" / "map.md").read_text()
    assert f">{package}</text>" in (PICTURES / "house.svg").read_text()


def test_what_is_imported_is_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports of functions and of type checkers do not count."""
    texts = {
        "high": "import os\nfrom rooms.low.file import x\n",
        "low": "x = 1\ndef f():\n    from rooms.high.file import y\n",
        "typed": "if TYPE_CHECKING:\n    import rooms.high.file\n",
    }
    for name, text in texts.items():
        folder = tmp_path / "rooms" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f'"""What {name} is for."""')
        (folder / "file.py").write_text(text)
    monkeypatch.setattr("hlo_tools.drawing.graphs.house.ROOT", tmp_path)
    picture = room("rooms")
    assert picture.count('class="edge"') == 1
    assert picture.index(">low</text>") < picture.index(">high</text>")
    assert "What typed is for." in picture


@pytest.mark.slow
def test_pictures_are_current() -> None:
    assert (PICTURES / "house.svg").read_text() == house()
    for package in PACKAGES:
        assert (PICTURES / f"room_{package}.svg").read_text() == room(package)
