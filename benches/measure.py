"""Etcd servers, programs, terminals and a connection that can be cut, each with what it cost.

What is measured, against what, and which result is good is `side-by-side`'s.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
# Settings of the person who runs this must not reach what is measured.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("ETCD", "LOCKSCOPE_", "NO_COLOR"))}


class NotRun(Exception):
    """A row cannot be measured on this machine; the text says why."""


class Failed(Exception):
    """A program did not do what was asked of it; the text says what."""


# --- etcd ----------------------------------------------------------------------------------


def etcds():
    """The folders with etcd and etcdctl, by version, oldest first."""
    found = {}
    folder = os.environ.get("LOCKSCOPE_ETCDS")
    if folder:
        for server in pathlib.Path(folder).glob("*/etcd"):
            if (server.parent / "etcdctl").exists():
                found[server.parent.name] = server.parent
    elif shutil.which("etcd") and shutil.which("etcdctl"):
        said = subprocess.run(["etcd", "--version"], capture_output=True, text=True).stdout
        version = re.search(r"etcd Version: (\S+)", said)
        found[version.group(1) if version else "unknown"] = pathlib.Path(shutil.which("etcd")).parent
    return dict(sorted(found.items(), key=lambda item: [int(n) for n in re.findall(r"\d+", item[0])]))


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Etcd:
    """Servers on loopback with their data in a temporary folder, until the block ends."""

    def __init__(self, folder, hidden=False, members=1):
        self.folder, self.hidden, self.members = folder, hidden, members
        self.ctl = [str(folder / "etcdctl")]

    def __enter__(self):
        self.data = tempfile.TemporaryDirectory(prefix="lockscope-bench-")
        ports = free_ports(2 * self.members)
        clients, peers = ports[:self.members], [f"http://127.0.0.1:{port}" for port in ports[self.members:]]
        self.endpoints = [f"127.0.0.1:{port}" for port in clients]
        self.endpoint = ",".join(self.endpoints)
        cluster = ",".join(f"m{n}={peer}" for n, peer in enumerate(peers))
        self.processes = []
        for n, (endpoint, peer) in enumerate(zip(self.endpoints, peers)):
            # A program that learns from the member where it serves clients would go around a proxy.
            advertised = "http://127.0.0.1:1" if self.hidden else f"http://{endpoint}"
            with open(pathlib.Path(self.data.name) / f"log{n}", "w") as log:
                self.processes.append(subprocess.Popen(
                    [self.folder / "etcd", "--data-dir", f"{self.data.name}/data{n}", "--name", f"m{n}",
                     "--listen-client-urls", f"http://{endpoint}", "--advertise-client-urls", advertised,
                     "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                     "--quota-backend-bytes", str(4 << 30), "--unsafe-no-fsync"],
                    stdout=log, stderr=subprocess.STDOUT, env=CLEAN))
        self.ctl += ["--endpoints", self.endpoint]
        for _ in range(200):
            if subprocess.run([*self.ctl, "endpoint", "health"], env=ctl_env(), capture_output=True).returncode == 0:
                return self
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.05)
        self.__exit__()
        raise Failed(f"{self.folder}/etcd does not start")

    def cpu(self):
        return sum(cpu_of(process.pid) for process in self.processes)

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.data.cleanup()


class Embedded:
    """`lockscope cluster`, until the block ends; spoken to through its standard input."""

    def __init__(self, binary, *arguments):
        self.command = [str(binary), "cluster", "-w", "json", *map(str, arguments)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, env=CLEAN)
        self.ready = self.line()
        self.endpoints = self.ready["endpoints"]
        self.endpoint = ",".join(self.endpoints)
        return self

    def line(self):
        said = self.process.stdout.readline()
        if not said:
            raise Failed(f"{shown(self.command)} has ended")
        return json.loads(said)

    def say(self, words):
        """Says a line; gives what is answered."""
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        answer = self.line()
        if answer["event"] != "ok":
            raise Failed(f"{words}: {answer}")
        return answer

    def nodes(self):
        return self.say("status")["status"]["nodes"]

    def cpu(self):
        return cpu_of(self.process.pid)

    def memory(self):
        """MiB that it holds."""
        return memory_of(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def ctl_env():
    return {**CLEAN, "ETCDCTL_API": "3"}


# --- programs ------------------------------------------------------------------------------


@dataclasses.dataclass
class Cost:
    wall: float  # seconds
    cpu: float  # seconds
    peak: float  # MiB


def run_to_end(command, timeout=120):
    """Runs a program with its output thrown away; fails with what it said if it fails."""
    with tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=errors, env=ctl_env())
        watchdog = threading.Timer(timeout, process.kill)
        watchdog.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        watchdog.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            raise Failed(f"{shown(command)}: exit {process.returncode}: {said[-1] if said else 'silent'}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def output_of(command, timeout=120):
    """Runs a program and gives what it printed. It and its children have ended afterwards."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=ctl_env(), start_new_session=True)
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"{shown(command)}: not done within {timeout} s") from None
    finally:
        # A child that outlived a program that was killed is in the same group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        said = errors.strip().splitlines()
        raise Failed(f"{shown(command)}: exit {process.returncode}: {said[-1] if said else 'silent'}")
    return out


def shown(command):
    words = [os.path.basename(str(command[0])), *map(str, command[1:])]
    return " ".join(words)[:120]


def cpu_of(pid):
    """Seconds of processor time a running process has used, to the nanosecond where it tells."""
    try:
        threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
        # Of a thread that ended meanwhile nothing can be read any more.
        told = [(thread / "schedstat").read_text().split() for thread in threads]
        return sum(int(fields[0]) for fields in told if fields) / 1e9
    except (OSError, ValueError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def memory_of(pid):
    """MiB of memory in which a running process is resident."""
    pages = pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Background:
    """A program that runs until the block ends, with its output in a file."""

    def __init__(self, command):
        self.command = command

    def __enter__(self):
        self.out = tempfile.NamedTemporaryFile(prefix="lockscope-bench-", buffering=0)
        self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.DEVNULL, env=ctl_env())
        return self

    def cpu(self):
        return cpu_of(self.process.pid)

    def wait_for(self, text, timeout=60):
        """Waits until the text has been printed; gives the time of it."""
        text, end, seen, tail = text.encode(), time.monotonic() + timeout, 0, b""
        with open(self.out.name, "rb") as printed:
            while True:
                new = printed.read()
                if text in tail + new:
                    return time.monotonic()
                tail, seen = (tail + new)[-len(text):], seen + len(new)
                if self.process.poll() is not None:
                    raise Failed(f"{shown(self.command)} ended with {self.process.returncode}")
                if time.monotonic() > end:
                    raise Failed(f"{shown(self.command)} did not print {text.decode()} within {timeout} s")
                time.sleep(0.001)

    def distinct(self, pattern):
        """How many different texts that match were printed."""
        with open(self.out.name, "rb") as printed:
            return len(set(re.findall(pattern, printed.read())))

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.out.close()


# --- a terminal ----------------------------------------------------------------------------


class Terminal:
    """A program in a terminal of its own, until the block ends. Answers what terminals answer."""

    ANSWERS = {b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
               b"\x1b[c": b"\x1b[?62;22c", b"\x1b[6n": b"\x1b[1;1R"}

    def __init__(self, command, columns=200, rows=60):
        self.command, self.size = list(map(str, command)), (rows, columns)

    def __enter__(self):
        self.shown, self.lock = b"", threading.Lock()
        self.began = time.monotonic()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *self.size, 0, 0))
                os.execvpe(self.command[0], self.command, {**ctl_env(), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
            finally:
                os._exit(127)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        return self

    def read(self):
        """Takes what the program writes; a terminal that is not read stops its program."""
        while True:
            try:
                select.select([self.master], [], [])
                new = os.read(self.master, 1 << 16)
            except OSError:
                return
            if not new:
                return
            for question, answer in self.ANSWERS.items():
                if question in new:
                    os.write(self.master, answer)
            with self.lock:
                self.shown = (self.shown + new)[-(1 << 18):]

    def forget(self):
        with self.lock:
            self.shown = b""

    def wait_for(self, text, timeout=20):
        """Waits until the text has been drawn, in one piece; gives the time of it."""
        text, end = text.encode(), time.monotonic() + timeout
        while True:
            with self.lock:
                if text in self.shown:
                    return time.monotonic()
            if time.monotonic() > end:
                raise Failed(f"{shown(self.command)} did not draw {text.decode()} within {timeout} s")
            time.sleep(0.0005)

    def keys(self, text):
        os.write(self.master, text.encode())

    def cpu(self):
        try:
            return cpu_of(self.pid)
        except OSError:
            raise Failed(f"{shown(self.command)} has ended") from None

    def cpu_during(self, seconds):
        """Processor seconds used in this many seconds from now."""
        before = self.cpu()
        time.sleep(seconds)
        return self.cpu() - before

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)


# --- a connection that can be cut ----------------------------------------------------------


class Proxy:
    """Passes connections on to a server; while cut, refuses new ones and has none."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.open, self.listener, self.healed = set(), None, None

    def __enter__(self):
        self.port = free_ports(1)[0]
        self.endpoint = f"127.0.0.1:{self.port}"
        self.heal()
        return self

    def heal(self):
        self.healed = None
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        # Without the shutdown a thread that sits in accept() would keep the port open.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            # What counts as "back" begins when the first connection is let in again.
            self.healed = self.healed or time.monotonic()
            far = socket.create_connection(self.target)
            for a, b in ((near, far), (far, near)):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.open.add(a)
                threading.Thread(target=self.pass_on, args=(a, b), daemon=True).start()

    def pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.open.discard(source)

    def __exit__(self, *_):
        self.cut()
