"""Stack frames are numbered in the order of their first use, as XLA numbers them."""

from __future__ import annotations

import pytest

import hlo
from hlo.read.stack_frames import source_location

TEXT = """\
HloModule m

FileNames
1 "a.py"
2 "b.py"

FunctionNames
1 "f"
2 "g"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1}
2 {file_name_id=2 function_name_id=2 line=2}
3 {file_name_id=2 function_name_id=1 line=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=3}

ENTRY e {
  ROOT p = f32[] parameter(0), metadata={METADATA}
}
"""


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('op_name="f" stack_frame_id=1', 'op_name="f" stack_frame_id=1'),
        ('op_name="f" stack_frame_id=2', 'op_name="f" stack_frame_id=1'),
        # Frame 3 was called from frame 2, which is taken over before it.
        ("stack_frame_id=3", "stack_frame_id=2"),
        ('op_name="f" stack_frame_id=9', 'op_name="f"'),
        # Only the key counts, not what a string holds.
        (
            'op_name="stack_frame_id=1" stack_frame_id=2',
            'op_name="stack_frame_id=1" stack_frame_id=1',
        ),
        ('op_name="stack_frame_id=2"', 'op_name="stack_frame_id=2"'),
        ('stack_frame_id=2 metadata_payload="p"', 'stack_frame_id=1 metadata_payload="p"'),
    ],
)
def test_number(written: str, kept: str) -> None:
    module = hlo.parse(TEXT.replace("METADATA", written))
    metadata = module.entry.root.annotations.metadata
    assert metadata is not None
    assert metadata.text == kept


def test_tables_keep_what_is_used() -> None:
    frames = hlo.parse(TEXT.replace("METADATA", "stack_frame_id=3")).stack_frames
    assert frames.file_names == ('"b.py"',)
    assert frames.function_names == ('"g"', '"f"')
    assert frames.stack_frames == (
        "{file_location_id=1 parent_frame_id=1}",
        "{file_location_id=2 parent_frame_id=2}",
    )


@pytest.mark.parametrize(
    ("written", "location"),
    [
        ("stack_frame_id=3", "b.py:3"),
        ('source_file="c.py" source_line=8 stack_frame_id=1', "c.py:8"),
        ('op_name="f"', ""),
    ],
)
def test_source_location(written: str, location: str) -> None:
    module = hlo.parse(TEXT.replace("METADATA", written))
    assert source_location(module, module.entry.root) == location


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        # Frame 2 is called by frame 3, and frame 3 by frame 2.
        ("2 {file_location_id=2 parent_frame_id=1}", "2 {file_location_id=2 parent_frame_id=4}", 0),
        ("3 {file_location_id=3 parent_frame_id=3}", "3 {file_location_id=3 parent_frame_id=4}", 0),
        # There is no such caller, location, file or function.
        ("2 {file_location_id=2 parent_frame_id=1}", "2 {file_location_id=2 parent_frame_id=9}", 0),
        ("2 {file_location_id=2 parent_frame_id=1}", "2 {file_location_id=2 parent_frame_id=0}", 0),
        ("2 {file_location_id=2 parent_frame_id=1}", "2 {file_location_id=8 parent_frame_id=1}", 0),
        ("2 {file_name_id=2 function_name_id=2", "2 {file_name_id=0 function_name_id=2", 0),
        ("2 {file_name_id=2 function_name_id=2", "2 {file_name_id=2 function_name_id=3", 0),
        ("3 {file_location_id=3 parent_frame_id=3}", "3 {file_location_id=0 parent_frame_id=3}", 1),
    ],
)
def test_a_frame_that_leads_nowhere_is_dropped_with_all_that_it_calls(
    old: str, new: str, kept: int
) -> None:
    """XLA does so, and keeps callers (measured with jaxlib 0.10.2)."""
    text = TEXT.replace("METADATA", "stack_frame_id=3").replace(old, new)
    module = hlo.parse(text)
    assert "stack_frame_id" not in str(module)
    assert len(module.stack_frames.stack_frames) == kept
    # Nobody needs the callers when the text is read again.
    again = hlo.parse(str(module))
    assert again.stack_frames.stack_frames == ()
    assert again.entry.root.annotations == module.entry.root.annotations


@pytest.mark.parametrize("title", ["FileNames", "FunctionNames", "FileLocations", "StackFrames"])
def test_tables_are_all_there_and_in_order(title: str) -> None:
    text = TEXT.replace("METADATA", "")
    start = text.index(title)
    end = min(i for i in (text.find("\n\n", start), text.index("\nENTRY")) if i >= 0)
    for wrong in (text[:start] + text[end:], text[:end] + "\n\n" + text[start:]):
        with pytest.raises(hlo.HloError, match="in this order") as caught:
            hlo.parse(wrong)
        assert caught.value.code == "HLO006"
