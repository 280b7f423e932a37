"""Runs a command on a terminal of its own that can be resized, as long as it lasts.

Arguments: columns, rows, then the command. What the terminal shows goes to standard output as it comes. Standard input is a
row of orders: one letter, four bytes of length, that many bytes. `k` types them; `r` sets the size they name, "COLUMNS ROWS";
`p` stops reading what the terminal shows, `c` goes on with it; `t` waits until all that was typed is taken, and says so on
standard error.
The first line of standard error is the command's process id, the second, once it has ended, whether the terminal is as it
was: "restored" or what differs. The exit code is the command's, or 128 + N when signal N ended it.
"""
import fcntl, os, pty, select, struct, sys, termios, time


def set_size(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def untaken(terminal):
    return struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))[0]


columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
master, slave = pty.openpty()
set_size(master, columns, rows)
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.close(master)
    os.login_tty(slave)
    os.execv(command[0], command)
print(child, file=sys.stderr, flush=True)

orders, ended, status = b"", False, 0
sources = [master, 0]
while True:
    ready = select.select(sources, [], [], 0.05 if ended else 0.5)[0]
    if 0 in ready:
        piece = os.read(0, 65536)
        if not piece:
            sources.remove(0)
        orders += piece
        while len(orders) >= 5 and len(orders) >= 5 + struct.unpack(">I", orders[1:5])[0]:
            length = struct.unpack(">I", orders[1:5])[0]
            order, body, orders = orders[:1], orders[5 : 5 + length], orders[5 + length :]
            if order == b"k":
                while body:
                    body = body[os.write(master, body[:1024]) :]
                    while master in sources and select.select([master], [], [], 0)[0]:
                        os.write(1, os.read(master, 65536))
            elif order == b"p":
                sources.remove(master)
            elif order == b"c":
                sources.append(master)
            elif order == b"t":
                while untaken(slave):
                    time.sleep(0.01)
                print("taken", file=sys.stderr, flush=True)
            else:
                set_size(master, *map(int, body.split()))
    if master in ready and master in sources:
        try:
            os.write(1, os.read(master, 65536))
        except OSError:
            break
    if ended and master not in ready:
        break
    if not ended:
        done, status = os.waitpid(child, os.WNOHANG)
        ended = done == child

after = termios.tcgetattr(slave)
names = ["input", "output", "control", "local", "in speed", "out speed", "characters"]
changed = [name for name, a, b in zip(names, before, after) if a != b]
print("changed: " + ", ".join(changed) if changed else "restored", file=sys.stderr, flush=True)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
