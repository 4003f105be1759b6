"""Programs in MLIR's bytecode: the same operations as in a text of VHLO, in fewer bytes."""

import base64
import warnings
from random import Random

import numpy as np
import pytest

import hlo
import interpreter
from hlo.files import parse_bytes
from hlo.frontends import stablehlo

# jax.export.export(jax.jit(f))(f32[3,3], s32[]).mlir_module_serialized of jaxlib 0.10.2, for
#
#     def f(x, i):
#         masked = jnp.where(np.tril(np.ones((3, 3), bool)), x, 0)
#         return lax.fori_loop(0, i, lambda _, v: v @ masked, x), lax.sort(x[::-1], dimension=0)
LOOP = base64.b85decode(
    "O-%1n4O4VsVr*qdOiy2SF)lGRE-(NAEd>Du9RULi0~-$$7aJcVCo3;AH#<KAHUj4%0ig#E3l9qq4-XFy4-XFy4-X"
    "FyBMT1;3kwem4+{?)4+|R)3lk3u4+{?q4+{?q3l9qm4;v2)4-Xp)8w(E$3kwSm3kwem4+{?q4-X3)4+{fF3kwSm3"
    "kxp`3kwSq3lkFy6AKFq7Yh#yA0HnV9}f!)FB1y^1q%-Y9TyJ|4;Kdq2NNF$9}@=xVg?@_hlvFt6+J@*BNb%_6&)K"
    "Le+?aD3lRea6*&hTT?ZX=8x<V~9SL<EcX=Is4IP0E0|zH5D-$gf1tk#y00k!nDFrJXGc^S*9XAyPFC7UxEd>V`8+"
    "9E&K?N}_1qTTcQ5{7`1v4!L0~;Mn0R=T3PXPrt9a8}XIUQF41v?#E0R=q;KOJEe1wjQv9SLVG1qT@ybscMM1w|Ea"
    "2OSA<Ed>V|i<t#SEd>V|d9?*e9eV)<O9f2@PX$pOg$)H$1yvo30R>kbj|&A^9g~#>TNRfJ9hsX2T`dI%8Ch)|p9="
    "+FBOeU`2?HM;0Uco-V;>a}00000000002LT5I2MZSg0|ld_BNqb&y}=CwslOd%4Fjpe9cLYB9cu#zqoboE8v_HQ9"
    "c>>82><}Ve;)}6000009|s8m0000V4F%Z&9|s8l0000J4*>-O2?ZY&5di=I0000000RZJwFw6S2>}8EDFqD;5h(!"
    "~DFG2F0TU?&4Gj|=2>~es1rHGg1qTHM1sf3u4Fv}S1t|jo4?_gr1O)+60VM$k1hxbN0SOCG0RsmF+5-a}D+LQx4_"
    "N>SLIDK>2?;_02LlNSLIDW_2MIzK3j+-aLIDi}2N6bJ4+8}U3jqxi77+;r2L}ZS4-EqW2?GlY2@3-c0}lfW0{{a?"
    "oe={I1s@>?1Q7!z0}T%e3j+@W4+9GW02v020|x~k2^&U{69WYWBOM0>5eXe7Atx0^X%zzn0|6IS85aWu0~rMa7b^"
    "u59}^z{14bbk0}BNm2L%QX0|^Hq2OR@OBO3z?1sxp)1`h)X2PFj~14bbk0}BNo2L%QX0|^Hy2Ok4QBO3z?1s@*;1"
    "`h)X2Q39F14e@#0}BNwF9!q}12G2#7X=p^3s5m12Lww44HE|$2@L=Z21x@60|gI8O(6pX0|x~LQ3C}B0RssK1OWp"
    "J1_J>F0RW;3ZxIg*6%`L5D=9rK4G$X?Ar%V^85bKT4+RAiBP$aN7Yhv~DLDlt9}f{16A>vF5g8Q~7Y_>&Vs&Y3bZ"
    "Kq?c4%yG0Bvt%b!=q-V{dJ6VRB_(b};~RWo%_*bYFHc0CHt?b#iWBb};~BZ*FsRVQzF^b};~Eb#7x{b};~BZ*F#F"
    "a&%vIF#uw6Z((F(VRLj}X>MO+X>DJ2F#uy>Y;0e4F#vaHX>4U*b};~QWp-t9b7fz4F#vOKa&%vIF#us?WM6hM0Az"
    "1;UuR`*WpZI`Uv@G8FLZ5iFJ@tNY;<!kZEG%Yc>rbrYGHUTb#rBNUvp?-aAjX`Z)|yOZ*p*GX>)A=ZD?$7E^c*gU"
    "vOb^bZK;HZ*Fq{ZD?$7E^c*gUvgz|Y-wX*a{y{-bYErwYH4&j0BUJ;C}t@yYH4%;Wo>D606cAPWOZz1J^*8HZgyp"
    "IbYEp`Wo>0{bYFCNaAg2ua&KW|V_|c2UukY%WNB>xb7gF0V{~6`0C)gt0BUJ;C}t@DYH4&RW+^XfX>=%GcW7mDWh"
    "nq^X>=%NDKB?uX>4TxYH4&RW+^XnWp)5+X>=%NDKB$xa&!Q5Z*p`x0CR70bO35;bSP#iFJ*B6YH4&RW+^XoWo%_*"
    "bYE@&YH4&RW+^XjWdLevbSP#iFKl#QbZ-E6XlZO^IskWQX>4TxYH4&RW+^XsXlZO^FJf<Gc`spPWB_VubSP#iFL!"
    "8ZY-KNEZ)ABdWN&m|XJu|>a$#%$W-dHzZ)0I>b3QISY+-F;WMMu4YH4&RW+^XsXlZO^FJo_RWG`%V0BT`)E^=jab"
    "!>EBX>Mk30AF`#WpZTza%FRMY;;>NT>x@rb9HQVTQOY#ZDDC{0C06;Y-wWvaB^vOVRU5x2zes~UjYlZxx2;31JMK"
    "11Jwi91K9(s1?96Dp`oXt;h~}9r=hK(1FZ$y-36tu1*NeC-?IzJ%gw9L1E&"
)
# The same of jax.shard_map(lambda x: lax.psum(x, "x"), ...)(f32[8]) on a mesh of two devices, along
# which the argument is cut.
PARTS = base64.b85decode(
    "O-%1n4O4VsVr*qdOiy2SF)lGRE-(NADF*=s2@?SY4-*3i7aJc12_q*fF9XAo8v$bn4+{$q3kweq4-X3uBMT1;4+{"
    "?q6AKdy4;u>$4-X3u4+|R$8w(2$3kw?y4-X3u0~Hq+6Au>;6Aup$1se+w6AKR;3kwSi4^ImL4HFLs3l9?o4-*Fu6"
    "9*R;0zw2I9Ty1&83h|1RaXTI2@4$s0Ub$89ZeA(Pf-OO9a&og2OS?FBPAyV9}x!t1tAdw2?Zk&0|f;o0|PBD1t$X"
    "oF*5}z0RuGy1vdpbI|VBREfEO`9X~+@FBL-(9Yse4F)arN6(i9FGc5-P7X`fqH3c^vQvn4z1v@PV2NhF!1w9=X0U"
    "cjq1wR!D2@MScYXJ=n18)HZ18D&R83_vmZ2<uZ8379c0RayKV*vvN4+CW#K?4JO4Fh*$BNqb$fei(Ng?D8gLmfpO"
    "M;%EM6$Kv|ApigX00000009610000000jdZ0}%xQ0s;#G2>}8G8v`K)DFYD?2`K>&DFY!79T5W)0}Uw!1ql@d@dX"
    "1>0UH4a1m6Pz2?ap`D+3Ks0R;yH!2<~s11Apv0R|5P3j+ZMRy_v;0RsaE1a|`o69WSk009OA0}TTK4^{&S0}TTM2"
    "Lvqx2MYxw86z105e8iY5d{GQ3j_lL1px*F0|5gC2?P}b2LT2X0}TTO3j`Ab2L=NH1pxr=21^eM4<Q=~At@CX4-*9"
    "=3kwS$4J9c#A1eh99T61|CkqcZ3keZob!lvLX>I^>WO)E~Xl!o)b#8KHVQgu7Wn^DtZ*F#Fa&u{KZeL?zb94Z0Z)"
    "A0BWdLnub7%l<VQzI{Y+qw<ZE$sTVRUJ4ZUAy+bairW0CHt?b#iWBb};~Eb#7x{b};~9Y;0e0Wn^_@WnXqO0AXZg"
    "Uv@D7cmOYSZE!DUVRdYDb1z|JWOHaPaCrc5b9HTBX>N95a%o|1bO35$crJBwWpiJ1Xkl<=UvO`1d2MfUaA;|BZ2)"
    "a(Y;P`Zb!}g8VRCe7bZKvHa{z5<Y;P`Zb!}gAWpHe1V_|auYH4&|W&m?^VPb4$Xl!pTZDn(40AYA#a{z8(ZDjy+X"
    "?kS<YH4&RW+^XoXkl_>Uu|J<0A>I@ZEs|CY-K(GYH4&RW+?!3Xkl_>Uu|J<IskKMVRB?&ZDDW#W-dHzZ)0I>b3QI"
    "SY+-F;WMMu4aC3ESUukZ3VRC6<Zge^TVPs?gb7Xlgb7*05WNB_^0BT`)E^=jab!>EBX>Mk30CHt>b!>D1ZDDC{0C"
    "06;Y-wWv2rCN(Qvn5M3k!LDe}{<&adUMCi;a%"
)
X = np.float32([[1, -2, 3], [0.5, 4, -1], [2, 0, -3]])


def test_a_program_that_jax_exports():
    module = parse_bytes(LOOP, "loop.mlirbc")
    hlo.verify(module)
    power, ordered = interpreter.evaluate(module, X, np.int32(3))
    np.testing.assert_allclose(power, X @ np.linalg.matrix_power(np.tril(X), 3), rtol=1e-5)
    np.testing.assert_array_equal(ordered, np.sort(X, axis=0))


def test_the_users_lines_are_kept():
    (sort,) = (i for i in parse_bytes(LOOP).entry.instructions if i.opcode == "sort")
    assert 'op_name="jit(f)/sort" source_file=' in str(sort.annotations.metadata)


def test_what_jax_export_serializes_has_the_program_inside():
    """A flatbuffer has arrays after their number of bytes, and more after them."""
    wrapped = b"\x14\0\0\0jax" + len(LOOP).to_bytes(4, "little") + LOOP + b"\0more"
    assert str(parse_bytes(wrapped)) == str(parse_bytes(LOOP))


def test_a_program_for_several_devices():
    """Shardy's operations are between those of VHLO, with casts between their types."""
    module = parse_bytes(PARTS)
    hlo.verify(module)
    assert module.header.num_partitions == 2
    assert "parameter(0), sharding={devices=[2]<=[2]}" in str(module)
    assert 'xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\\"x\\"}]>]>"' in str(module)
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(interpreter.evaluate(module, x), x[:4] + x[4:])


def test_a_file_is_read_as_a_text_is(tmp_path):
    path = tmp_path / "loop.mlirbc"
    path.write_bytes(LOOP)
    assert str(hlo.load(path)) == str(stablehlo.parse_bytecode(LOOP))
    with pytest.raises(hlo.HloError, match="there is no function `other`"):
        hlo.load(path, entry="other")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (LOOP[:500], "m.mlirbc is no MLIR bytecode that can be read: it ends too early"),
        (LOOP.replace(b"ML\xefR\x0d", b"ML\xefR\x55"), "it is of version 42, which is not known"),
        (b"ML\xefR\x0dStableHLO_v1.0.0\0", "it has no section of kind 0"),
        (b"ML\xefR\x0dStableHLO_v1.0.0\0\1", "it ends too early: 1 byte must follow"),
        (LOOP.replace(b"sort_v1", b"sort_v9"), "HLO has nothing for `vhlo.sort_v9`"),
        (LOOP.replace(b"vhlo", b"mine"), "`mine.func_v1` is not promised to stay readable"),
    ],
)
def test_broken_bytes_are_told(raw, told):
    with pytest.raises(hlo.HloError, match=r"m\.mlirbc|HLO has|bytecode of") as caught:
        hlo.verify(stablehlo.parse_bytecode(raw, "m.mlirbc"))
    assert told in str(caught.value)
    assert caught.value.code in ("HLO012", "HLO013")


def test_an_error_shows_the_operation_and_the_users_line():
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse_bytecode(LOOP.replace(b"sort_v1", b"sort_v9"), "m.mlirbc")
    assert "vhlo.sort_v9(%" in str(caught.value)
    assert "in the program: " in str(caught.value)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_bytes_there_are_nothing_else_is_raised(seed):
    """Bytes are changed, taken out and put in: what still can be read may be a module."""
    random, read = Random(seed), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(120):
            raw = bytearray(LOOP)
            for _ in range(random.randint(1, 3)):
                at = random.randrange(len(raw))
                raw[at : at + random.randrange(2)] = random.randbytes(random.randrange(2))
            try:
                hlo.verify(stablehlo.parse_bytecode(bytes(raw)))
                read += 1
            except hlo.HloError as error:
                assert str(error)  # noqa: PT017  any of them may come
    assert read < 120
