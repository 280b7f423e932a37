"""The seven tools on a folder, with the texts that the program's own tools return, for evaluations of whole turns."""

import glob as globs
import os
import re
import subprocess

# Commands that an evaluation may run in its copy of the folder; everything else is answered as refused.
HARMLESS = re.compile(
    r"^(ls|wc|du|df|pwd|date|whoami|head|tail|sort|cat|stat|echo|printf|mv|rm|cp|mkdir|touch|git status|git log|git diff|git branch|grep|diff|nproc|uname|free|tree|find|file)\b"
)
REFUSED = "The user did not allow this call."
CHANGING = ("run_shell_command", "write_file", "replace")


class Folder:
    """Runs calls in a folder, which the model sees under the name `home`. `refuse`: what every changing call is answered."""

    def __init__(self, path, home, refuse=None):
        self.path, self.home, self.refuse = os.path.realpath(path), home, refuse

    def entries(self, inside="."):
        """Names as the prompt and the listing have them: folders first, with a slash."""
        at = os.path.join(self.path, inside)
        found = [
            name + "/" * os.path.isdir(os.path.join(at, name)) for name in os.listdir(at) if name != ".git"
        ]
        return sorted(found, key=lambda name: (not name.endswith("/"), name))

    def call(self, name, arguments):
        if self.refuse and name in CHANGING:
            return self.refuse
        method = getattr(self, name, None)
        if method is None:
            return f"There is no tool {name}."
        try:
            arguments = {
                key: str(value).replace(self.home, self.path) if key != "content" else value
                for key, value in arguments.items()
            }
            return method(**arguments).replace(self.path, self.home)
        except (TypeError, ValueError, AttributeError, OSError) as error:
            return f"Error: {error}"

    def full(self, path):
        return os.path.normpath(os.path.join(self.path, path))

    def list_directory(self, dir_path):
        at = self.full(dir_path)
        if not os.path.isdir(at):
            return f"There is no folder {at}."
        lines = [self.listed(at, name) for name in self.entries(at)]
        return f"Directory listing for {at}:\n" + "\n".join(lines) if lines else f"The folder {at} is empty."

    def listed(self, at, name):
        return (
            f"[DIR] {name[:-1]}"
            if name.endswith("/")
            else f"{name} ({os.path.getsize(os.path.join(at, name))} bytes)"
        )

    def read_file(self, file_path):
        at = self.full(file_path)
        if os.path.isdir(at):
            return f"{at} is a directory, not a file. Use list_directory to see what is in it."
        if not os.path.isfile(at):
            at = self.only_of_that_name(file_path) or at
        if not os.path.isfile(at):
            return f"There is no file {at}. Look with list_directory or glob what is there, and mind that relative paths start in the working folder."
        with open(at, errors="replace") as file:
            return file.read().rstrip("\n")[:12000] or "(the file is empty)"

    def only_of_that_name(self, path):
        """The program's help: README finds README.md, math.rs finds src/math.rs, when there is only one."""
        stem = os.path.basename(path)
        found = set(globs.glob(f"**/{globs.escape(stem)}", root_dir=self.path, recursive=True))
        found |= (
            set(globs.glob(f"**/{globs.escape(stem)}.*", root_dir=self.path, recursive=True))
            if "." not in stem
            else set()
        )
        found = [name for name in found if os.path.isfile(self.full(name))]
        return self.full(found[0]) if len(found) == 1 else None

    def grep_search(self, pattern):
        command = ["grep", "-rnE", "--exclude-dir=.git", "-e", pattern, "."]
        out = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
        if out.returncode == 2:
            command[1] = "-rnF"
            out = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
        files = {}
        lines = sorted(out.stdout.splitlines())
        for line in lines[:40]:
            name, number, text = line.split(":", 2)
            files.setdefault(name[2:], []).append(f"L{number}: {text[:160]}")
        if not files:
            return f"No matches for '{pattern}' in {self.path} (31 files searched)."
        shown = "".join(f"\n---\nFile: {name}\n" + "\n".join(found) for name, found in files.items())
        return f"{len(lines)} match(es) for '{pattern}' in {len(files)} file(s) in {self.path}:{shown}"

    def glob(self, pattern):
        found = [
            name
            for name in sorted(globs.glob(pattern, root_dir=self.path, recursive=True))
            if os.path.isfile(self.full(name))
        ][:40]
        if not found:
            return f"No files match '{pattern}' in {self.path} (57 entries were looked at)."
        return (
            f"{len(found)} file(s) match '{pattern}' in {self.path}, recently changed ones first:\n"
            + "\n".join(map(self.full, found))
        )

    def run_shell_command(self, command):
        if not HARMLESS.match(command) or re.search(
            r"(^|[\s'\"=])(/|~|\.\.)", command.replace(self.path, ".")
        ):
            return REFUSED
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.path, capture_output=True, text=True, timeout=20
        )
        said = (done.stdout + done.stderr).strip("\n")[:3000] or "(empty)"
        return f"Output: {said}" + (f"\nExit Code: {done.returncode}" if done.returncode else "")

    def write_file(self, file_path, content):
        at = self.full(file_path)
        if not at.startswith(self.path + os.sep):
            return REFUSED
        did = "Overwrote" if os.path.exists(at) else "Created"
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "w") as file:
            file.write(content)
        return f"{did} {at}."

    def replace(self, file_path, old_string, new_string):
        at = self.full(file_path)
        if not at.startswith(self.path + os.sep):
            return REFUSED
        if not os.path.isfile(at):
            return f"There is no file {at}."
        with open(at) as file:
            text = file.read()
        if not old_string or old_string not in text:
            return (
                f"{at}: old_string was not found in the file. Read the file again and use its text exactly."
            )
        with open(at, "w") as file:
            file.write(text.replace(old_string, new_string))
        return f"Changed {text.count(old_string)} place(s) in {at}."
