"""Runs a command on a terminal of its own, as long as it lasts.

What the terminal shows goes to standard output as it comes; what comes on standard input is typed. The first line of
standard error is the command's process id. The exit code is the command's, or 128 + N when signal N ended it.
"""
import os, pty, select, sys

child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
print(child, file=sys.stderr, flush=True)

sources = [terminal, 0]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == terminal:
            os.write(1, data)
        else:
            os.write(terminal, data)

_, status = os.waitpid(child, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
