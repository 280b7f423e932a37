"""Starts a program under limits that keep a runaway command small, and on request on a kernel without Landlock, or in a
container that refuses namespaces; as this user, or as another.

Usage: launcher.py whole|without-landlock|without-namespaces same|NUMBER PROGRAM ARGUMENT…
"""
import ctypes, os, resource, struct, sys

GIB = 1 << 30
for limit, most in ((resource.RLIMIT_AS, 8 * GIB), (resource.RLIMIT_FSIZE, GIB // 4), (resource.RLIMIT_CPU, 120)):
    resource.setrlimit(limit, (most, most))

if sys.argv[2] != "same":
    user = int(sys.argv[2])
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)

libc = ctypes.CDLL(None, use_errno=True)
REFUSE, ALLOW = 0x00050000, 0x7FFF0000


def install(instructions):
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program, len(program)), 0, 0):
        sys.exit(f"no seccomp filter: {os.strerror(ctypes.get_errno())}")


if sys.argv[1] == "without-landlock":
    # The three system calls have the numbers 444 to 446 on every architecture.
    install([
        (0x20, 0, 0, 0),  # the number of the system call
        (0x35, 0, 2, 444),  # below 444: go on
        (0x25, 1, 0, 446),  # above 446: go on
        (0x06, 0, 0, REFUSE | 38),  # ENOSYS
        (0x06, 0, 0, ALLOW),
    ])
    if libc.syscall(444, 0, 0, 1) != -1 or ctypes.get_errno() != 38:
        sys.exit("Landlock still answers")
elif sys.argv[1] == "without-namespaces":
    unshare, mount = {"x86_64": (272, 165), "aarch64": (97, 40)}[os.uname().machine]
    install([
        (0x20, 0, 0, 0),  # the number of the system call
        (0x15, 1, 0, unshare),
        (0x15, 0, 1, mount),
        (0x06, 0, 0, REFUSE | 1),  # EPERM
        (0x06, 0, 0, ALLOW),
    ])
    if libc.unshare(0x00020000) != -1 or ctypes.get_errno() != 1:
        sys.exit("namespaces are still to be had")

os.execv(sys.argv[3], sys.argv[3:])
