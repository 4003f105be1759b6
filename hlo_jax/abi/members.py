"""The notation of a struct in the tables: a class with one line a member.

    @struct
    class BufferDimensions(Args):
        buffer: Address
        dims: Address  # out: int64[num_dims]
        num_dims: Size  # out

is both the `ctypes` struct that Python reads and, by `declaration`, the struct in C that the shim
is compiled with. There is no third place.
"""

import ctypes
from typing import Annotated, Any, TypeVar, get_args

# The type that Python reads from a member, the type in memory, and the name in C.
Address = Annotated[int, ctypes.c_size_t, "void *"]  # of anything, a handle too; 0 is NULL
Size = Annotated[int, ctypes.c_size_t, "size_t "]
Int = Annotated[int, ctypes.c_int, "int "]  # an enumeration, too
Int64 = Annotated[int, ctypes.c_int64, "int64_t "]
Bool = Annotated[bool, ctypes.c_bool, "bool "]


class CStruct(ctypes.Structure):
    """A struct with one line a member."""

    __slots__ = ()


class Args(CStruct):
    """The arguments and results of a function of PJRT.

    Attributes
    ----------
    struct_size : bytes that the caller knows of. Versions of PJRT only ever add members at the
        end, so this says which members are there.
    extension_start : the first of a chain of extensions, which PyHLO does not read here.
    """

    __slots__ = ()
    _fields_ = (("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_size_t))
    struct_size: Size
    extension_start: Address


Made = TypeVar("Made", bound=type[CStruct])


def struct(made: Made) -> Made:
    """Lay out a class's members in memory, and let it have no others.

    (To set a member that a struct of C does not have is a mistake that Python would not notice.)
    """
    fields = [(name, get_args(kind)[1]) for name, kind in made.__annotations__.items()]
    about = {"__doc__": made.__doc__, "__module__": made.__module__, "__slots__": ()}
    content = {**about, "__annotations__": made.__annotations__, "_fields_": fields}
    kind: Any = type(made)
    return kind(made.__name__, made.__bases__, content)


def members(made: type[CStruct]) -> dict[str, Any]:
    """The members of a struct and their types, those of an `Args` first."""
    before = Args.__annotations__ if issubclass(made, Args) else {}
    return {**before, **made.__annotations__}


def size(made: type[CStruct], count: int | None = None) -> int:
    """Bytes up to the end of the last member, or of the first so many; padding is not counted.

    This is the `struct_size` that a caller gives (`PJRT_STRUCT_SIZE` in the header).
    """
    name = list(members(made))[:count][-1]
    member = getattr(made, name)
    return member.offset + member.size


def sizes(made: type[CStruct]) -> list[int]:
    """The `struct_size` of callers of every age: the end of each member."""
    return [size(made, count + 1) for count in range(len(members(made)))]


def cuts_a_member(made: type[CStruct], known: int) -> bool:
    """Whether a struct that ends after so many bytes ends inside a member: it is another struct."""
    found = (getattr(made, name) for name in members(made))
    return any(member.offset < known < member.offset + member.size for member in found)


def declaration(made: type[CStruct], name: str) -> str:
    """The struct in C."""
    lines = [f"  {get_args(kind)[2]}{member};" for member, kind in members(made).items()]
    return "\n".join(["typedef struct {", *lines, f"}} {name};\n"])
