#!/usr/bin/env bash
# Shows that nothing is spoken to but the model: runs the headless tests in a network that has this machine alone, and watches every
# connection that is tried.
#
#   scripts/offline.sh [TEST_BINARY [FILTER…]]
#
# TEST_BINARY is the built test program of crates/cli (built when left out or empty), FILTER names of tests: all but those below when left
# out. Exit status 1 and the lines, where anything beyond this machine was tried, name servers included, or a test failed; 77 where the
# system forbids such networks or the watching.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Whatever is not here is watched: a new module of tests is, without a word.
LEFT_OUT=(
  # Nobody is watched twice.
  telemetry::nobody_is_spoken_to
  # Other programs that go to the network by themselves: browsers, and MCP servers as npm has them.
  serving::browser
  mcp::real
  # Servers of models and databases, minutes of other people's code; what speaks to them is watched in all other tests.
  engine::
  real_server::
  serving::nodes
  # Their subjects are names that no name server knows: a server of that name, a page that the model is asked to fetch.
  faults::
  gemini::tools::the_eleventh_request_to_a_host
  # Killing what is watched takes other ways than killing what is not, and its waits are longer.
  hooks::misbehaving
  serving::agents
  # Makes packages with npm and pip: about the scripts, not the program.
  packaging::
)
SKIPPED=()
for name in "${LEFT_OUT[@]}"; do SKIPPED+=(--skip "$name"); done

binary=${1:-}
shift || true
FILTERS=("$@")
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

# watched FILE PROGRAM ARGUMENTS…: runs it in there; FILE gets every call that names somebody.
watched() {
  local calls=$1
  shift
  unshare --net python3 "$folder/loopback.py" \
    strace --follow-forks --quiet=all --seccomp-bpf --trace=connect,sendto,sendmsg,sendmmsg --output="$calls" "$@"
}

code=0
watched "$folder/calls" "$binary" --test-threads "$(nproc)" "${FILTERS[@]}" "${SKIPPED[@]}" >"$folder/tests" 2>&1 || code=$?
grep -E '^test result|FAILED|panicked' "$folder/tests" || tail -n 20 "$folder/tests"
python3 scripts/connections.py "$folder/calls" || code=1

# The watching is no use if it sees nothing: a name that is looked up must show.
watched "$folder/control" python3 -c 'import socket; socket.getaddrinfo("charla.invalid", 80)' >/dev/null 2>&1 || true
if ! grep -q 'htons(53)' "$folder/control"; then
  echo "error: a name was looked up, and it was not seen"
  code=1
fi
exit $code
