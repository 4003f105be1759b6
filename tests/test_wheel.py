"""What a wheel of the project holds."""

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "hlo",
    "interpreter",
    "optimizer",
    "codegen",
    "emit_c",
    "emit_cuda",
    "hlo_jax",
    "hlo_tf",
    "hlo_torch",
    "hlo_tools",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_holds_every_package_and_nothing_else(names: list[str]) -> None:
    tops = {name.partition("/")[0] for name in names}
    packages = {name for name in tops if not name.endswith(".dist-info")}
    assert packages == {name for name in PACKAGES if (ROOT / name / "__init__.py").exists()}


def test_wheel_holds_every_file_of_the_packages(names: list[str]) -> None:
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "hlo/read/hlo.lark" in files
    assert files <= set(names)


def test_wheel_holds_the_command_and_the_licence(names: list[str]) -> None:
    assert any(name.endswith("entry_points.txt") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
