"""What the verifier accepts and refuses between devices: starts and ends, groups, channels."""

import pytest
from verified import check_refused, parsed

import hlo

# What the module line says, and the body of an entry computation.
ACCEPTED = {
    "async start, update and done": (
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), f32[4], u32[]) async-start(p), calls=negated
            u = ((f32[4]), f32[4], u32[]) async-update(s)
            ROOT d = f32[4] async-done(u)
        """,
    ),
    "an operand that is bound by an update": (
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), (), u32[]) async-start(p), calls=pair
            u = ((f32[4], f32[4]), (f32[4]), u32[]) async-update(s, p)
            ROOT d = (f32[4]) async-done(u)
        """,
    ),
    "copy-start and copy-done": (
        "",
        """
            p = f32[4] parameter(0)
            s = (f32[4]{0:S(1)}, f32[4], u32[]) copy-start(p)
            ROOT d = f32[4]{0:S(1)} copy-done(s)
        """,
    ),
    "send and recv": (
        "",
        """
            t = token[] after-all()
            r = (f32[4], u32[], token[]) recv(t), channel_id=1
            rd = (f32[4], token[]) recv-done(r), channel_id=1
            x = f32[4] get-tuple-element(rd), index=0
            s = (f32[4], u32[], token[]) send(x, t), channel_id=2
            ROOT sd = token[] send-done(s), channel_id=2
        """,
    ),
    "groups of the whole grid": (
        "replica_count=2, num_partitions=2",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,3},{1,2}}, channel_id=1,
                use_global_device_ids=true, to_apply=add_f32
        """,
    ),
    "groups of different sizes in an all-reduce": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0},{1,2}}, to_apply=add_f32
        """,
    ),
    "all partitions of each replica group": (
        "replica_count=2, num_partitions=4",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[32] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "all of an unknown number of partitions": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[32] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "groups as an iota": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[8] all-gather(p), replica_groups=[4,2]<=[8], dimensions={0}
        """,
    ),
}
# The same, with the code of the error in front.
REFUSED = {
    "async-done of another value": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            t = (f32[4]) tuple(p)
            s = ((f32[4]), f32[4]) tuple(t, p)
            ROOT d = f32[4] async-done(s)
        """,
    ),
    "a start that nobody ends": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            ROOT s = (f32[4], f32[4], u32[]) copy-start(p)
        """,
    ),
    "a start that is ended, and is the value of its computation": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            ROOT s = (f32[4], f32[4], u32[]) copy-start(p)
            d = f32[4] copy-done(s)
        """,
    ),
    "a start whose value is used": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            s = (f32[4], f32[4], u32[]) copy-start(p)
            ROOT d = f32[4] get-tuple-element(s), index=0
        """,
    ),
    "async-done before all operands are bound": (
        "HLO071",
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), (f32[4]), u32[]) async-start(p), calls=pair
            ROOT d = (f32[4]) async-done(s)
        """,
    ),
    "one async computation for two starts": (
        "HLO083",
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), f32[4], u32[]) async-start(p), calls=negated
            d = f32[4] async-done(s)
            t = ((f32[4]), f32[4], u32[]) async-start(d), calls=negated
            ROOT e = f32[4] async-done(t)
        """,
    ),
    "global ids without a channel": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, use_global_device_ids=true,
                to_apply=add_f32
        """,
    ),
    "global ids without groups": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={}, channel_id=1,
                use_global_device_ids=true, to_apply=add_f32
        """,
    ),
    "groups of different sizes in an all-gather": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[8] all-gather(p), replica_groups={{0,1},{2}}, dimensions={0}
        """,
    ),
    "an empty group": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0},{}}, to_apply=add_f32
        """,
    ),
    "groups that leave out replicas": (
        "HLO066",
        "replica_count=4",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add_f32
        """,
    ),
    "parts that are no multiple of a group": (
        "HLO066",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[12] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "a device that there is not": (
        "HLO067",
        "replica_count=2",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] collective-permute(p), source_target_pairs={{0,2}}
        """,
    ),
    "a channel number that is not positive": (
        "HLO068",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={}, channel_id=0, to_apply=add_f32
        """,
    ),
    "an end on the host of a start on a device": (
        "HLO068",
        "",
        """
            p = f32[4] parameter(0)
            t = token[] after-all()
            s = (f32[4], u32[], token[]) send(p, t), channel_id=1
            ROOT d = token[] send-done(s), channel_id=1, is_host_transfer=true
        """,
    ),
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepts(what: str) -> None:
    hlo.verify(parsed(*ACCEPTED[what]))


@pytest.mark.parametrize("what", REFUSED)
def test_refuses(what: str) -> None:
    check_refused(*REFUSED[what])
