#!/usr/bin/env bash
# Builds each package from one program and runs it in a root that has nothing else in it.
#
#   packaging/check.sh BINARY [MODEL_SERVER]
#
# BINARY is the program to be packed. MODEL_SERVER is the program `charla-testkit`: with it each installed program also answers a prompt
# in its root. Prints a line for each package; exit status 1 where one fails.
set -euo pipefail
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

binary=$(realpath "$1")
server=${2:+$(realpath "$2")}
work=$(mktemp -d)
model='' failed=0
finish() {
  if [ -n "$model" ]; then kill "$model" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

url=''
if [ -n "$server" ]; then
  echo '{"otherwise": "repeat", "replies": ["Hello there."]}' >"$work/script.json"
  "$server" --script "$work/script.json" >"$work/server" 2>&1 &
  model=$!
  for _ in $(seq 100); do
    url=$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$work/server" | head -n 1 || true)
    [ -z "$url" ] || break
    sleep 0.1
  done
fi

# bare FOLDER: a root with nothing in it but what every program finds, and the libraries of one that is not static.
bare() {
  local folder=$1 library
  mkdir -p "$folder"/{tmp,dev,proc,etc,home/user}
  touch "$folder/dev/null"
  echo 'user:x:0:0::/home/user:/bin/sh' >"$folder/etc/passwd"
  if ! is_static "$binary"; then
    ldd "$binary" | grep -o '/[^ ]*' | while read -r library; do install -D "$library" "$folder$library"; done
  fi
}

# inside FOLDER PROGRAM ARGUMENTS…: runs it with FOLDER as its root, in namespaces of its own.
inside() {
  local folder=$1
  shift
  unshare --user --map-root-user --mount --pid --fork --root="$folder" --wd=/home/user \
    env --ignore-environment HOME=/home/user PATH=/usr/bin OPENAI_API_KEY=key OPENAI_BASE_URL="$url/v1" CHARLA_OFFLINE=1 "$@" </dev/null
}

# tried NAME FOLDER PROGRAM: does the program run there?
tried() {
  local name=$1 folder=$2 program=$3 said answer=''
  # `env` is ours: the root has none.
  install -D "$(command -v busybox || echo /nonexistent)" "$folder/usr/bin/env" 2>/dev/null || copy_env "$folder"
  said=$(inside "$folder" "$program" --version 2>&1) || true
  if [ -n "$url" ]; then answer=$(inside "$folder" "$program" -m openai/test -p hello 2>&1) || true; fi
  if [ "$said" = "charla $version" ] && { [ -z "$url" ] || [ "$answer" = "Hello there." ]; }; then
    printf 'ok      %-22s %s%s\n' "$name" "$said" "${answer:+, answered in a root of $(find "$folder" -type f | wc -l) files}"
  else
    printf 'FAILED  %-22s %s / %s\n' "$name" "$said" "$answer"
    failed=1
  fi
}

copy_env() {
  local library
  install -D "$(command -v env)" "$1/usr/bin/env"
  ldd "$(command -v env)" | grep -o '/[^ ]*' | while read -r library; do install -D "$library" "$1$library"; done
}

skipped() { printf 'skipped %-22s %s\n' "$1" "$2"; }

is_static "$binary" && echo "the program is static" || echo "the program is not static: its libraries are put into each root"

bare "$work/plain" && install -D "$binary" "$work/plain/usr/bin/charla"
tried "the program alone" "$work/plain" /usr/bin/charla

package=$("$here/deb.sh" "$binary" "$work/packages")
bare "$work/deb" && mkdir -p "$work/deb/var/lib/dpkg"/{info,updates,triggers} && touch "$work/deb/var/lib/dpkg"/{status,available}
dpkg --root="$work/deb" --force-depends --force-not-root --force-bad-path --log=/dev/null --install "$package" >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
tried "Debian package" "$work/deb" /usr/bin/charla
dpkg --root="$work/deb" --listfiles charla | grep -c 'man1/.*gz' | sed 's/^/        manual pages: /'
if [ -n "$(dpkg-deb --info "$package" conffiles 2>/dev/null)" ]; then echo "FAILED  the package has conffiles" && failed=1; fi
second=$("$here/deb.sh" "$binary" "$work/again")
if cmp "$package" "$second"; then echo "        made twice, it is the same"; else failed=1; fi

if command -v npm >/dev/null; then
  archive=$("$here/npm.sh" "$binary" "$work/packages")
  bare "$work/npm"
  npm install --silent --global --offline --no-audit --no-fund --prefix "$work/npm/usr" "$archive" >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
  tried "npm package" "$work/npm" /usr/bin/charla
else
  skipped "npm package" "npm is not installed"
fi

wheel=$(find "$root/bindings/python" -name 'charla*.whl' 2>/dev/null | head -n 1 || true)
if [ -n "$wheel" ]; then
  python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet --no-index "$wheel" &&
    "$work/venv/bin/python" -c 'import charla' && echo "ok      Python wheel" || { echo "FAILED  Python wheel"; failed=1; }
else
  skipped "Python wheel" "none is built"
fi

engine=$(command -v podman || command -v docker || true)
if [ -n "$engine" ] && "$engine" info >/dev/null 2>&1; then
  install -m 755 "$binary" "$work/charla"
  if "$engine" build --quiet --file "$here/Containerfile" --build-arg BINARY=charla --tag charla-check "$work" >"$work/log" 2>&1; then
    said=$("$engine" run --rm charla-check --version) && echo "ok      container              $said"
  else
    skipped "container" "its base image cannot be had: $(tail -n 1 "$work/log")"
  fi
else
  skipped "container" "no container engine runs here"
fi

if command -v ruby >/dev/null; then ruby -c "$here/homebrew/charla.rb" >/dev/null && echo "ok      Homebrew formula       read by ruby"; else skipped "Homebrew formula" "neither brew nor ruby is installed"; fi
exit $failed
