"""The interactive terminal beside headless runs: the rows of `bench/run.py` that need a terminal."""

import fcntl
import os
import pty
import select
import struct
import termios
import time


class Terminal:
    """The binary on a terminal of 80 by 24."""

    def __init__(self, command, env, cwd):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.shown, self.began = b"", time.monotonic()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.master)
            os.login_tty(slave)
            os.chdir(cwd)
            os.execve(command[0], [str(word) for word in command], env)
        os.close(slave)

    def hear(self, patience):
        if not select.select([self.master], [], [], patience)[0]:
            return False
        self.shown += os.read(self.master, 1 << 16)
        return True

    def wait_for(self, text, since=0):
        """Seconds from the start until the terminal was sent this text."""
        deadline = time.monotonic() + 120
        while text.encode() not in self.shown[since:]:
            if time.monotonic() > deadline or not self.hear(120):
                raise SystemExit(f"the terminal never showed {text!r}: {self.shown[-500:]!r}")
        return time.monotonic() - self.began

    def press(self, keys):
        os.write(self.master, keys.encode())

    def ticks(self):
        """CPU time so far, in ticks of the system's clock."""
        with open(f"/proc/{self.process}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def memory(self):
        """Resident kilobytes."""
        with open(f"/proc/{self.process}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def leave(self):
        """CPU seconds of the whole run."""
        self.press("\x04")
        while True:
            try:
                self.hear(30)
            except OSError:
                break
        _, _, usage = os.wait4(self.process, 0)
        os.close(self.master)
        return usage.ru_utime + usage.ru_stime


def talk(charla, env, home, prompts, answer):
    """CPU seconds of a conversation with these prompts, each answered with a text that ends so, and the memory after it."""
    terminal = Terminal([charla, "-m", "openai/bench"], env, home)
    terminal.wait_for("openai/bench")
    for _ in range(prompts):
        since = len(terminal.shown)
        terminal.press("go\r")
        terminal.wait_for(answer, since)
    memory = terminal.memory()
    return terminal.leave(), memory


def completion(charla, env, folder):
    """Seconds from `@` and a few letters to the first file that is offered, right after the start."""
    terminal = Terminal([charla, "-m", "openai/bench"], env, folder)
    terminal.wait_for("openai/bench")
    pressed = time.monotonic() - terminal.began
    terminal.press("@needle")
    seconds = terminal.wait_for("needle.txt") - pressed
    terminal.press("\x03")
    terminal.leave()
    return seconds


def first_answer(charla, env, home, answer):
    """Seconds from the start to the answer of a prompt that is typed at the first frame, and resident kilobytes."""
    terminal = Terminal([charla, "-m", "openai/bench"], env, home)
    terminal.wait_for("›")
    terminal.press("go\r")
    seconds, memory = terminal.wait_for(answer), terminal.memory()
    terminal.leave()
    return seconds, memory


def at_the_prompt(charla, env, home, seconds):
    """Seconds to the first frame, resident kilobytes, and ticks of CPU while nothing happens."""
    terminal = Terminal([charla, "-m", "openai/bench"], env, home)
    first = terminal.wait_for("›")
    terminal.wait_for("openai/bench")
    while terminal.hear(0.5):
        pass
    before = terminal.ticks()
    time.sleep(seconds)
    idle, memory = terminal.ticks() - before, terminal.memory()
    terminal.leave()
    return first, memory, idle
