#!/usr/bin/env python3
"""Does what a container engine does with the Containerfile, without one.

    packaging/container.py BINARY ROOT [NAME=VALUE…]

Fills the folder ROOT step by step (the base with debootstrap) and prints the words that run the image's program in it, with these variables.
It knows the instructions that the Containerfile uses and refuses any other. It needs root, and a mirror of Debian.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def instructions(text):
    """Each instruction with what follows it, continued lines joined."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def inside(root, user, folder, *words):
    """The words that run a program in the root, as this user in this folder."""
    enter = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--root", str(root), "--wd", folder]
    clean = ["env", "--ignore-environment", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"]
    if user != "root":
        clean = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", *clean, f"HOME=/home/{user}"]
    return [*enter, *clean, *words]


class Image:
    """The root as far as it is made."""

    def __init__(self, root, binary):
        self.root, self.binary = root, binary
        self.arguments, self.user, self.folder, self.entry = {}, "root", "/", []

    def step(self, word, rest):
        getattr(self, f"do_{word.lower()}", lambda _: sys.exit(f"error: {word} is not known here"))(rest)

    def do_from(self, image):
        name, _, tag = image.partition(":")
        if name != "debian":
            sys.exit(f"error: {image} is no base that debootstrap makes")
        suite = tag.removesuffix("-slim")
        # In a namespace of its own: what it mounts is gone with it, whatever ends it.
        made = ["unshare", "--mount", "debootstrap", "--variant=minbase", suite, str(self.root)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)

    def do_run(self, line):
        resolved = Path("/etc/resolv.conf").read_text(encoding="utf-8")
        (self.root / "etc/resolv.conf").write_text(resolved, encoding="utf-8")
        done = subprocess.run(inside(self.root, self.user, self.folder, "sh", "-c", line), stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"error: RUN {line}: exit code {done.returncode}")

    def do_arg(self, rest):
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def do_copy(self, rest):
        words = shlex.split(rest)
        modes = [word.removeprefix("--chmod=") for word in words if word.startswith("--chmod=")]
        source, target = [word for word in words if not word.startswith("--")]
        if source != "${BINARY}" or "BINARY" not in self.arguments:
            sys.exit(f"error: {source} is not what is copied here")
        place = self.root / target.lstrip("/")
        shutil.copyfile(self.binary, place)
        place.chmod(int(modes[0], 8) if modes else 0o644)

    def do_user(self, name):
        self.user = name

    def do_workdir(self, folder):
        self.folder = folder
        (self.root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def do_entrypoint(self, words):
        self.entry = json.loads(words)


def main():
    binary, root = Path(sys.argv[1]), Path(sys.argv[2])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("error: it takes root and debootstrap")
    image = Image(root.resolve(), binary)
    for word, rest in instructions((HERE / "Containerfile").read_text(encoding="utf-8")):
        image.step(word, rest)
    print(shlex.join(inside(image.root, image.user, image.folder, *sys.argv[3:], *image.entry)))


if __name__ == "__main__":
    main()
