"""Texts, errors, attributes and events, and the beginning of extensions."""

from hlo_jax.abi.members import Address, Args, Bool, CStruct, Int, Size, struct


@struct
class Text(Args):
    """A text about something: its name, its kind, its version, itself, briefly or at length."""

    of: Address
    # results
    text: Address
    text_size: Size


@struct
class ErrorDestroy(Args):
    """Free an error."""

    error: Address


@struct
class ErrorMessage(Args):
    """The text of an error, which lives as long as the error."""

    error: Address
    # results
    message: Address
    message_size: Size


@struct
class ErrorGetCode(Args):
    """The code of an error."""

    error: Address
    # results
    code: Int


@struct
class ErrorForEachPayload(Args):
    """Tell a visitor the payloads of an error."""

    error: Address
    visitor: Address  # void(const char* key, size_t, const char* value, size_t, void* user_arg)
    user_arg: Address


@struct
class PluginInitialize(Args):
    """Called once, before anything else."""


@struct
class PluginAttributes(Args):
    """The attributes of the plugin."""

    # results
    attributes: Address  # NamedValue[num_attributes]
    num_attributes: Size


@struct
class NamedValue(Args):
    """A name and a value."""

    name: Address
    name_size: Size
    type: Int
    value: Address  # a union: char*, int64, int64*, float or bool
    value_size: Size  # elements of a list, characters of a string, else 1


@struct
class EventDestroy(Args):
    """Free an event."""

    event: Address


@struct
class EventIsReady(Args):
    """Whether the event has happened."""

    event: Address
    # results
    is_ready: Bool


@struct
class EventError(Args):
    """The error of an event: it is the function's result."""

    event: Address


@struct
class EventAwait(Args):
    """Wait for the event."""

    event: Address


@struct
class EventOnReady(Args):
    """Call a function once the event is ready."""

    event: Address
    callback: Address  # void(PJRT_Error*, void* user_arg)
    user_arg: Address


@struct
class ExtensionBase(CStruct):
    """The first members of each extension."""

    struct_size: Size
    type: Int
    next: Address
