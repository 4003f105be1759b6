"""Code in the sandbox writes, deletes and reaches nothing outside, and leaves nothing running.

Each attack is tried as code of its own. It prints "reached" where it has got at something. `FILE`
and `FOLDER` can be read, `SECRET` is in a folder that is not shown, and `SOCKET` is listened at.
"""

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from hlo_tools.exercises import confine, sandbox

pytestmark = pytest.mark.skipif(
    bool(sandbox.refusal()), reason=f"this system has no sandbox: {sandbox.refusal()}"
)
SYSCALL = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
# What a child is called that should not be there at the end.
SLEEPS = "31556926"
WRITES = {
    "removes a file": "os.remove(FILE)",
    "removes a folder": "shutil.rmtree(FOLDER, ignore_errors=True)",
    "removes it by a program": "subprocess.run(['rm', '-rf', FOLDER])",
    "removes it by a shell": "os.system(f'rm -rf {FOLDER}')",
    "removes it by posix_spawn": """
        os.waitpid(os.posix_spawn('/bin/rm', ['rm', '-rf', FOLDER], os.environ), 0)""",
    "becomes a program": "os.execv('/bin/rm', ['rm', '-rf', FOLDER])",
    "removes it in a child": """
        if os.fork() == 0:
            os.remove(FILE)
        os.wait()""",
    "removes it by the C library": SYSCALL + "libc.unlink(FILE.encode())",
    "removes it by a system call": SYSCALL + "libc.syscall(263, -100, FILE.encode(), 0)",
    "overwrites a file": "open(FILE, 'w').write('gone')",
    "appends to a file": "os.write(os.open(FILE, os.O_WRONLY | os.O_APPEND), b'more')",
    "truncates a file": "os.truncate(FILE, 0)",
    "writes to its memory": """
        import mmap
        file = os.open(FILE, os.O_RDWR)
        mmap.mmap(file, 0)[:4] = b'gone'""",
    "moves a file": "os.rename(FILE, FILE + '2')",
    "moves a folder": "shutil.move(FOLDER, '/tmp/mine')",
    "makes a file": "open(FOLDER + '/new', 'w').write('new')",
    "changes a mode": "os.chmod(FILE, 0)",
    "changes an owner": "os.chown(FILE, 1, 1)",
    "changes a time": "os.utime(FILE, (0, 0))",
    "changes an attribute": "os.setxattr(FILE, 'user.mine', b'1')",
    "follows a symbolic link": """
        os.symlink(FILE, '/tmp/link')
        open('/tmp/link', 'w').write('gone')""",
    "makes a hard link": """
        os.link(FILE, '/tmp/hard')
        open('/tmp/hard', 'w').write('gone')""",
    "goes by the root of another process": "open('/proc/1/root' + FILE, 'w').write('gone')",
    "goes by a file descriptor": """
        there = os.open(FOLDER, os.O_RDONLY)
        os.remove('precious.txt', dir_fd=there)""",
    "reopens what it has read": """
        file = os.open(FILE, os.O_RDONLY)
        os.write(os.open(f'/proc/self/fd/{file}', os.O_WRONLY), b'gone')""",
    "mounts it again for writing": SYSCALL
    + "libc.mount(None, FOLDER.encode(), None, 0x1020, None); os.remove(FILE)",
    "takes the mount away": SYSCALL + "libc.umount2(FOLDER.encode(), 2); os.remove(FILE)",
    "mounts as root of its own": """
        shell = f'mount -o remount,rw,bind {FOLDER}; rm {FILE}'
        subprocess.run(['unshare', '-Urm', 'sh', '-c', shell])
    """,
    "changes its root": "os.chroot('/proc/1/root'); os.remove(FILE)",
    "enters the mounts of another process": """
        SYSCALL_ = __import__('ctypes').CDLL(None)
        SYSCALL_.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0)
        os.remove(FILE)""",
    "opens a file by its handle": SYSCALL
    + "reached(libc.syscall(304, 3, ctypes.create_string_buffer(64), 2) >= 0)",
    "makes a device": """
        os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0))
        reached(os.open('/tmp/disk', os.O_RDONLY) > 0)""",
    "finds a disk": """
        import stat
        for name in os.listdir('/dev'):
            mode = os.stat('/dev/' + name).st_mode
            reached(stat.S_ISBLK(mode))""",
    "changes a setting of the kernel": "open('/proc/sys/kernel/core_pattern', 'w').write('mine')",
    "changes a setting in /sys": """
        for folder, _, names in os.walk('/sys/kernel'):
            for name in names:
                try:
                    os.close(os.open(f'{folder}/{name}', os.O_WRONLY))
                except OSError:
                    continue
                reached(True)""",
    "makes a control group": "os.mkdir('/sys/fs/cgroup/mine'); reached(True)",
    "writes to what is open": """
        for number in range(3, 256):
            try:
                os.write(number, b'gone')
            except OSError:
                continue
            reached(True)""",
    "writes to home": "open(os.path.expanduser('~root') + '/mine', 'w'); reached(True)",
    "adds to the packages": """
        cache = os.path.dirname(sys.path[-1])
        open(cache + '/mine.pth', 'w'); reached(True)""",
    "schedules a command": "subprocess.run('echo rm -rf {FOLDER} | at now', shell=True)",
    "becomes another user": """
        os.system(f'sudo -n rm {FILE}')
        os.setuid(0)
        os.remove(FILE)""",
}
READS = {
    "reads a file that is not shown": "reached(open(SECRET).read())",
    "reads the passwords": "reached(open('/etc/shadow').read())",
    "reads keys": "reached(os.listdir(os.path.expanduser('~root/.ssh')))",
    "reads the environment": "reached('A_SECRET' in os.environ)",
    "reads the environment of a process": """
        for name in os.listdir('/proc'):
            if name.isdigit():
                reached(b'A_SECRET' in open(f'/proc/{name}/environ', 'rb').read())""",
    "sees other processes": "reached(sum(n.isdigit() for n in os.listdir('/proc')) > 6)",
    "reads a disk": """
        for name in ('vda', 'sda', 'nvme0n1', 'mem', 'kmem', 'port'):
            if os.path.exists('/dev/' + name):
                reached(open('/dev/' + name, 'rb').read(1))""",
    "connects to a port": """
        import socket
        socket.create_connection(('127.0.0.1', PORT))
        reached(True)""",
    "connects to a port by the C library": SYSCALL + "reached(libc.socket(2, 1, 0) >= 0)",
    "connects in a program": """
        program = f'''import socket
        socket.create_connection(("127.0.0.1", {PORT}))
        print("rea" "ched")'''
        subprocess.run([sys.executable, '-c', textwrap.dedent(program)])""",
    "connects to a socket in a folder": """
        program = f'''import socket
        socket.socket(socket.AF_UNIX).connect({SOCKET!r})
        print("rea" "ched")'''
        subprocess.run([sys.executable, '-c', textwrap.dedent(program)])""",
    "talks to the host of a virtual machine": SYSCALL + "reached(libc.socket(40, 1, 0) >= 0)",
    "talks to the kernel": SYSCALL + "reached(libc.socket(16, 3, 0) >= 0)",
    "submits to a ring": SYSCALL
    + "reached(libc.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0)",
    "reads keys of the kernel": SYSCALL + "reached(libc.syscall(250, 0, -3, 0) >= 0)",
    "loads a program into the kernel": SYSCALL
    + "reached(libc.syscall(321, 5, ctypes.create_string_buffer(120), 120) >= 0)",
    "makes a user namespace": SYSCALL + "reached(libc.unshare(0x10000000) == 0)",
    "clones into a user namespace": SYSCALL
    + "reached(libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0)",
}
SIGNALS = {
    "kills its parent": "os.kill(os.getppid(), 9)",
    "stops its parent": "os.kill(os.getppid(), 19); time.sleep(0.1)",
    "kills the first process": "os.kill(1, 9)",
    "kills everybody": "os.kill(-1, 9)",
    "kills its group": "os.killpg(0, 9)",
    "kills who started it": "os.kill(OUTSIDE, 9)",
    "traces its parent": SYSCALL + "reached(libc.ptrace(16, os.getppid(), 0, 0) == 0)",
    "writes to the memory of its parent": "reached(open(f'/proc/{os.getppid()}/mem', 'r+b'))",
    "limits its parent": "__import__('resource').prlimit(OUTSIDE, 7, (0, 0)); reached(True)",
}
LEAVES = {
    "leaves a process": f"subprocess.Popen(['sleep', '{SLEEPS}'])",
    "leaves a session": f"subprocess.Popen(['sleep', '{SLEEPS}'], start_new_session=True)",
    "leaves a daemon": f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp('sleep', ['sleep', '{SLEEPS}'])
            os._exit(0)
        os.wait()""",
    "leaves a job of a shell": f"os.system('nohup setsid sleep {SLEEPS} >/dev/null 2>&1 &')",
    "leaves a child that ignores signals": f"""
        import signal
        if os.fork() == 0:
            for number in range(1, 65):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except OSError:
                    pass
            os.execvp('sleep', ['sleep', '{SLEEPS}'])""",
}
# Those that a limit ends, with the statuses that may come of it.
LIMITED = {
    "forks at will": ("while True: os.fork()", (confine.OVER_PROCESSES, confine.OVER_TIME, 1)),
    "forks in a shell": (
        "os.system(':(){ :|:& };:'); time.sleep(60)",
        (confine.OVER_PROCESSES, confine.OVER_TIME),
    ),
    "starts threads at will": (
        """
        import threading
        while True: threading.Thread(target=time.sleep, args=(60,)).start()""",
        (1, confine.OVER_TIME, confine.OVER_MEMORY),
    ),
    "loops": ("while True: pass", (confine.OVER_TIME, 128 + 24, 128 + 9)),
    "sleeps": ("time.sleep(10**6)", (confine.OVER_TIME,)),
    "stops itself": ("os.kill(os.getpid(), 19)", (confine.OVER_TIME,)),
    "loops in many processes": (
        """
        for _ in range(8):
            if os.fork() == 0: break
        while True: pass""",
        (confine.OVER_TIME, 128 + 24, 128 + 9),
    ),
    "takes memory in many processes": (
        """
        for _ in range(8):
            if os.fork() == 0: break
        x = []
        for _ in range(20): x.append(bytearray(1 << 24))
        time.sleep(60)""",
        (confine.OVER_MEMORY,),
    ),
    "fills the disk": (
        """
        for n in range(200):
            with open(f'/tmp/{n}', 'wb') as file: file.write(bytes(1 << 24))""",
        (1, confine.OVER_MEMORY),
    ),
    "writes one large file": (
        """
        with open('/tmp/large', 'wb') as file:
            while True: file.write(bytes(1 << 20))""",
        (1, confine.OVER_MEMORY),
    ),
    "opens files at will": ("x = [open('/tmp/x', 'w') for _ in range(10000)]", (1,)),
    "keeps memory in no process": (
        """
        x = [os.memfd_create('x') for _ in range(50)]""",
        (1,),
    ),
}
SECONDS, MEGABYTES = 2, 800
# Each attack in a child of its own.
TOGETHER = """
    for name, code in ATTACKS.items():
        if os.fork() == 0:
            try:
                exec(code)
            finally:
                os._exit(0)
        os.wait()
    print('the end')"""


def body_of(code: str) -> str:
    return textwrap.dedent(code).strip()


class Attack:
    """A folder that is precious, a port and a socket; and what is left of them after an attack."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "folder"
        self.folder.mkdir()
        (self.folder / "precious.txt").write_text("precious")
        self.secret = tmp_path / "secret.txt"
        self.secret.write_text("secret")
        self.connected: list[str] = []
        self.port = self._listening(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        # The path of a socket has up to 107 letters.
        os.chdir(self.folder)
        self._listening(socket.AF_UNIX, "socket")
        self.before = self.state()

    def _listening(self, family: int, address: object) -> socket.socket:
        made = socket.socket(family)
        made.bind(address)  # pyright: ignore[reportArgumentType]
        made.listen()
        threading.Thread(target=self._accept, args=[made], daemon=True).start()
        return made

    def _accept(self, made: socket.socket) -> None:
        made.accept()
        self.connected.append(str(made))

    def state(self) -> list[tuple[object, ...]]:
        """All files that should stay as they are."""
        found = [self.folder.parent, *sorted(self.folder.parent.rglob("*"))]
        return [
            (p, s.st_mode, s.st_uid, s.st_mtime_ns, s.st_size, p.is_file() and p.read_bytes())
            for p in found
            for s in [p.lstat()]
        ]

    def run(self, code: str, seconds: int = 10, **more: object) -> tuple[int, str]:
        """The exit status of code in the sandbox, and what it prints."""
        names = {
            **more,
            "FILE": str(self.folder / "precious.txt"),
            "FOLDER": str(self.folder),
            "SECRET": str(self.secret),
            "SOCKET": str(self.folder / "socket"),
            "PORT": self.port,
            "OUTSIDE": os.getpid(),
        }
        lines = [
            "import os, shutil, subprocess, sys, textwrap, time",
            "from hlo_tools.exercises import linux, limits",
            # Python itself refuses less than usual: the kernel is what is tested.
            "sys.addaudithook = lambda _: None",
            f"limits.limit({seconds}, {MEGABYTES})",
            "def reached(what):",
            "    if what: print('rea' 'ched', flush=True)",
            *(f"{name} = {value!r}" for name, value in names.items()),
            body_of(code),
        ]
        command = [sys.executable, "-S", "-c", "\n".join(lines)]
        confined = sandbox.sandboxed(command, (self.folder,), seconds, MEGABYTES)
        done = subprocess.run(
            confined,
            env=sandbox.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout.decode(errors="replace")


def running() -> list[str]:
    """The processes that attacks have left."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if SLEEPS.encode() in words or any(b"reached(what)" in word for word in words):
            found.append(b" ".join(words)[:80].decode())
    return found


@pytest.fixture(params=["own", "bwrap"])
def attack(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Attack:
    if request.param == "bwrap" and not shutil.which("bwrap"):
        pytest.skip("bwrap is not installed")
    monkeypatch.setattr(sandbox, "_tried", lambda: (request.param, ""))
    monkeypatch.setenv("A_SECRET", "A_SECRET")
    monkeypatch.chdir(tmp_path)
    return Attack(tmp_path)


def holds(attack: Attack, printed: str) -> None:
    """Nothing was reached, nothing has changed, and nothing runs any more."""
    assert "reached" not in printed.replace("reached(", ""), printed
    assert "SyntaxError" not in printed, printed
    assert "NameError" not in printed, printed
    assert attack.state() == attack.before
    assert not attack.connected
    assert not running()


ATTACKS = {**WRITES, **READS, **LEAVES, **SIGNALS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_reaches_nothing(name: str, attack: Attack) -> None:
    _, printed = attack.run(ATTACKS[name])
    holds(attack, printed)


def test_all_attacks_reach_nothing(attack: Attack) -> None:
    alone = ("kills everybody", "kills its group", "stops its parent", "kills its parent")
    codes = {name: body_of(code) for name, code in ATTACKS.items() if name not in alone}
    status, printed = attack.run(TOGETHER, ATTACKS=codes)
    holds(attack, printed)
    assert status == 0, printed
    assert printed.endswith("the end\n")


def test_processes_of_a_limit_end(attack: Attack) -> None:
    status, printed = attack.run(LIMITED["forks at will"][0], SECONDS)
    assert status in LIMITED["forks at will"][1], printed
    assert not running()


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_holds_for_all_processes_together(name: str, attack: Attack) -> None:
    code, statuses = LIMITED[name]
    seconds = SECONDS if confine.OVER_TIME in statuses else 60
    status, printed = attack.run(code, seconds)
    assert status in statuses, printed
    holds(attack, printed)


def test_code_that_does_no_harm_runs(attack: Attack) -> None:
    """It computes, compiles C, writes to the temporary folder, and reads what is shown."""
    status, printed = attack.run("""
        open('/tmp/x.c', 'w').write('int main() { return 7; }')
        subprocess.run(['cc', '/tmp/x.c', '-o', '/tmp/x'], check=True)
        print(subprocess.run(['/tmp/x']).returncode, open(FILE).read())""")
    assert (status, printed) == (0, "7 precious\n")
