"""Runs a command on a terminal of its own and talks to it.

Arguments: a JSON list of [wait for this text, then type this], then the command. Everything the terminal
shows is printed; the exit code is the command's, or 99 when an expected text did not come.
"""
import json, os, pty, select, sys, time

script, command = json.loads(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)

shown, seen, deadline, missed = b"", 0, time.monotonic() + 25, False
while True:
    if script and script[0][0].encode() in shown[seen:]:
        expected, typed = script.pop(0)
        seen = shown.index(expected.encode(), seen) + len(expected)
        os.write(terminal, typed.encode())
        continue
    if time.monotonic() > deadline:
        missed = True
        os.kill(child, 9)
        break
    if select.select([terminal], [], [], 0.5)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data

sys.stdout.buffer.write(shown)
sys.stdout.flush()
_, status = os.waitpid(child, 0)
sys.exit(99 if missed or script else os.waitstatus_to_exitcode(status))
