#!/usr/bin/env bash
# Runs a program in a network of its own, in which only this machine can be reached, and fails it where it tries anything else.
#
#   scripts/offline.sh PROGRAM ARGUMENTS…
#   scripts/offline.sh --check
#
# ./test runs every test through it, one network for each: what a test does is counted by the kernel and told of that test. A connection or a
# packet that has no way out, and a question to a name server, make exit status 70, whatever the program makes of it; else its own status
# stands.
# --check says whether this system allows it: 0, or 77 and why not.
set -euo pipefail

EXPECTED=(
  # Their subjects are names that no name server knows: a model's server, and a page that the model fetches.
  faults::a_server_of_a_name_that_nobody_has
  gemini::tools::the_eleventh_request_to_a_host
  # Chromium looks for the network by itself.
  serving::browser
)

# expected WORDS…: is one of these the name of such a test?
expected() {
  local name word
  for word in "$@"; do
    for name in "${EXPECTED[@]}"; do
      if [[ $word == "$name"* ]]; then return 0; fi
    done
  done
  return 1
}

# unreached: how much has gone nowhere in this network, by what the kernel counts: no route (IPv4, IPv6), no receiver (a name server that
# would answer on this machine).
unreached() {
  awk '$1 == "Ip:" || $1 == "Udp:" { if (!($1 in heads)) { heads[$1] = $0; next }
         split(heads[$1], names); for (i = 2; i <= NF; i++) if (names[i] == "OutNoRoutes" || names[i] == "NoPorts") sum += $i }
       $1 == "Ip6OutNoRoutes" || $1 == "Udp6NoPorts" { sum += $2 }
       END { print sum + 0 }' /proc/net/snmp /proc/net/snmp6 2>/dev/null
}

# The inner half: this process is in the network already.
if [ "${1:-}" = --inside ]; then
  shift
  ip link set lo up
  without=()
  # Whoever is not root got rights over the network alone for the line above.
  if [ "$(id -u)" != 0 ]; then without=(setpriv --ambient-caps=-all --inh-caps=-all); fi
  code=0
  "${without[@]}" "$@" || code=$?
  count=$(unreached)
  if [ "$count" != 0 ] && ! expected "$@"; then
    echo "error: $count connections or packets were meant for somebody beyond this machine, or for a name server" >&2
    echo "hint: strace --follow-forks --trace=connect,sendto,sendmsg,sendmmsg $* shows to whom" >&2
    code=70
  fi
  exit $code
fi

own_network() {
  if [ "$(id -u)" = 0 ]; then
    unshare --net -- "$@"
  else
    unshare --user --map-current-user --keep-caps --net -- "$@"
  fi
}

if [ "${1:-}" = --check ]; then
  refused() { echo "$1" && exit 77; }
  command -v ip >/dev/null || refused "the program ip is not installed"
  own_network ip link set lo up 2>/dev/null || refused "this system allows no network of one's own"
  # Counting is no use if it sees nothing: a name that is looked up must show.
  seen=0
  own_network "$0" --inside getent hosts charla.invalid >/dev/null 2>&1 || seen=$?
  [ "$seen" = 70 ] || refused "names are looked up by other ways than the network here"
  exit 0
fi

# Programs that tests start through cargo are in the network already.
for name in "${!CARGO_TARGET_@}"; do if [[ $name == *_RUNNER ]]; then unset "$name"; fi; done
own_network "$0" --inside "$@"
