"""The texts from which the fuzzer starts, and what it takes from them to put elsewhere."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random

from hlo_tools.generate.modules import random_module
from interpreter.custom_calls.registry import all_functions

TESTS = Path(__file__).parents[1]
# Longer texts say nothing more, and take longer.
LONGEST = 4000
# Words, numbers, strings, and every other character by itself; blanks are kept between them.
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|%?[A-Za-z_][\w.\-]*|-?\d[\w.+\-]*|->|\s+|.', re.DOTALL)
SHAPE = re.compile(r"\b(?:pred|token|[suf]\d+\w*|bf16|c64|c128)\[[^\]\s]*\](?:\{[^}\s]*\})?")
ATTRIBUTE = re.compile(r", ([a-z_]+)=((?:\{[^{}]*\}|[\w.\-%\[\]:,>x?]*[\w}\]]|\"[^\"]*\"))")

DONATIONS = """HloModule donates, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}) }

ENTRY e {
  x = f32[4,6] parameter(0)
  y = s32[12] parameter(1)
  z = f32[4,6] parameter(2)
  a = f32[4,6] add(x, z)
  b = s32[12] negate(y)
  c = f32[6,4] transpose(x), dimensions={1,0}
  ROOT t = (f32[4,6], s32[12], f32[6,4]) tuple(a, b, c)
}
"""
DONORS = """HloModule donors, buffer_donor={ (0, {}), (1, {1}) }

ENTRY e {
  x = f32[8] parameter(0)
  p = (s32[8], f32[8]) parameter(1)
  q = f32[8] get-tuple-element(p), index=1
  r = f32[8] multiply(x, q)
  i = s32[] constant(2)
  u = f32[3] slice(x), slice={[1:4]}
  ROOT d = f32[8] dynamic-update-slice(r, u, i)
}
"""
CALLS = """HloModule calls

ENTRY e {
  a = f32[4,4] parameter(0)
  b = f32[4,2] parameter(1)
  s = f32[4,4] multiply(a, a)
  o = (f32[4,4]{0,1}, s32[]) custom-call(s), custom_call_target="lapack_spotrf_ffi", operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  l = f32[4,4]{0,1} get-tuple-element(o), index=0
  t = f32[4,2]{0,1} custom-call(l, b), custom_call_target="lapack_strsm_ffi", operand_layout_constraints={f32[4,4]{0,1}, f32[4,2]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}
  f = f32[8] reshape(t)
  k = (f32[3], s32[3]) custom-call(f), custom_call_target="TopK"
  q = (f32[4,4]{0,1}, s32[4], s32[]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={}
  g = (f32[4,4]{0,1}, f32[4]) custom-call(a), custom_call_target="lapack_sgeqrf_ffi", operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={}
  w = (f32[4,4]{0,1}, f32[4], s32[]) custom-call(a), custom_call_target="lapack_ssyevd_ffi", operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, uplo = 76 : ui8}
  c = f32[4,4] custom-call(a), custom_call_target="Sharding", sharding={replicated}
  ROOT r = (f32[4,2]{0,1}, (f32[3], s32[3]), f32[4,4], (f32[4,4]{0,1}, s32[4], s32[]), (f32[4,4]{0,1}, f32[4]), (f32[4,4]{0,1}, f32[4], s32[])) tuple(t, k, c, q, g, w)
}
"""  # noqa: E501  instructions stay on their lines


@dataclass(frozen=True)
class Corpus:
    """Texts to begin with.

    Attributes
    ----------
    files : the texts of the tests: models, golden cases, errors.
    generated : whether random modules belong to it.
    """

    files: tuple[str, ...]
    generated: bool = True

    @cached_property
    def attributes(self) -> list[str]:
        """Attributes of all texts, as `key=value`."""
        found = {f"{key}={value}" for text in self.files for key, value in ATTRIBUTE.findall(text)}
        return sorted(found)

    @cached_property
    def lines(self) -> list[str]:
        """Instructions of all texts."""
        return sorted({line for text in self.files for line in text.splitlines() if " = " in line})

    @cached_property
    def tokens(self) -> list[str]:
        """Words, numbers and signs of all texts."""
        return sorted({token for text in self.files for token in TOKEN.findall(text)})

    @cached_property
    def shapes(self) -> list[str]:
        """Shapes of all texts."""
        return sorted({shape for text in self.files for shape in SHAPE.findall(text)})

    @cached_property
    def targets(self) -> list[str]:
        """Names of custom calls."""
        return sorted(all_functions())

    def text(self, random: Random) -> str:
        """One text: of a file, of a random module, or one that donates or calls."""
        choice = random.random()
        if choice < 0.75:
            return random.choice(self.files)
        if choice < 0.85 or not self.generated:
            return random.choice((DONATIONS, DONORS, CALLS))
        return str(random_module(random, size=random.choice((4, 8, 12))))


@lru_cache
def corpus(*folders: str) -> Corpus:
    """The corpus of some folders of the tests, or of all of them and of random modules."""
    texts: list[str] = []
    for folder in folders or ("models", "cases", "errors"):
        for path in sorted((TESTS / folder).rglob("*.hlo")):
            text = path.read_text("utf-8", "surrogateescape")
            # A golden case holds what goes in, and what comes out.
            texts += [part for part in text.split("// EXPECT") if len(part) <= LONGEST]
    return Corpus(tuple(text for text in texts if "HloModule" in text), not folders)
