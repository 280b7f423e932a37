#!/usr/bin/env bash
# Shows that nothing is spoken to but the model: runs the headless tests in a network that has this machine alone, and watches every
# connection that is tried.
#
#   scripts/offline.sh [TEST_BINARY [FILTER…]]
#
# TEST_BINARY is the built test program of crates/cli (built when left out), FILTER names of tests. Exit status 1 and the lines, where
# anything beyond this machine was tried, name servers included; 77 where the system forbids such networks or the watching.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One-shots, conversations, tools, resuming, questions, agents, hooks, undoing, the server. Tests that fetch something from the
# network by themselves (real MCP servers, browsers, engines) are about other programs.
FILTERS=(agent:: agents:: answers:: approving:: compressing:: faults:: hooks:: parameters:: prompts:: resuming:: rewinding:: sessions:: switching:: telemetry:: undo:: serving::interface serving::sessions)
# A server with a name is looked up, which the control below wants; killing what is watched takes other ways than killing what is not.
SKIPPED=(--skip faults::network --skip hooks::misbehaving)

binary=${1:-}
shift || true
if [ $# -gt 0 ]; then FILTERS=("$@"); fi
if [ -z "$binary" ]; then
  binary=$(cargo test --locked -p charla-cli --test cli --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\/deps\/cli-[^"]*\)".*/\1/p' | tail -n 1)
fi

if ! unshare --net true 2>/dev/null; then
  echo "skipped: this system does not allow a network of one's own"
  exit 77
fi
if ! command -v strace >/dev/null; then
  echo "skipped: strace is not installed"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The one interface there is: this machine. `ip` may be missing, so the kernel is asked directly.
cat >"$folder/loopback.py" <<'PYTHON'
import fcntl, os, socket, struct, sys
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
    request = struct.pack("16sH14s", b"lo", 0, b"")
    name, flags, rest = struct.unpack("16sH14s", fcntl.ioctl(asked, SIOCGIFFLAGS, request))
    fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sH14s", name, flags | IFF_UP, rest))
os.execvp(sys.argv[1], sys.argv[1:])
PYTHON

# watched FILE ARGUMENTS…: runs tests in there; FILE gets every call that names somebody.
watched() {
  local calls=$1
  shift
  unshare --net python3 "$folder/loopback.py" \
    strace --follow-forks --quiet=all --seccomp-bpf --trace=connect,sendto,sendmsg,sendmmsg --output="$calls" \
    "$binary" --test-threads "$(nproc)" "$@" >"$folder/tests" 2>&1
}

code=0
watched "$folder/calls" "${FILTERS[@]}" "${SKIPPED[@]}" || code=$?
grep -E '^test result|FAILED|panicked' "$folder/tests" || tail -n 20 "$folder/tests"
python3 scripts/connections.py "$folder/calls" || code=1

# The watching is no use if it sees nothing: a model whose server has a name that nobody knows must show.
watched "$folder/control" faults::network || true
if ! grep -q 'htons(53)' "$folder/control"; then
  echo "error: a name server was asked, and it was not seen"
  code=1
fi
exit $code
