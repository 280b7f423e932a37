#!/usr/bin/env bash
# Makes a release of one program and runs each package in a root that has nothing else in it.
#
#   packaging/check.sh [--only PART] BINARY [MODEL_SERVER [WHEEL]]
#
# PART is one of program, archive, deb, npm, wheel, container, brew; all of them when left out. BINARY is the program to be packed.
# MODEL_SERVER is the program `charla-testkit`: with it each installed program also answers a prompt in its root; '' for none. WHEEL is
# the Python package; one of target/wheels when left out. CHARLA_PACK_LEVEL=1 packs quicker than for a release.
# Prints a line for each package; exit status 1 where one fails. What this machine lacks is skipped, and said: npm, ruby (for the formula),
# a container engine or else root and debootstrap.
set -euo pipefail
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

parts='program archive deb npm wheel container brew'
if [ "${1:-}" = --only ]; then
  case " $parts " in *" ${2:-} "*) parts=$2 && shift 2 ;; *) echo "error: --only takes one of: $parts" >&2 && exit 2 ;; esac
fi
wants() { case " $parts " in *" $1 "*) true ;; *) false ;; esac }

binary=$(realpath "$1")
server=${2:+$(realpath "$2")}
work=$(mktemp -d)
model='' failed=0
finish() {
  if [ -n "$model" ]; then kill "$model" 2>/dev/null || true; fi
  rm -rf --one-file-system "$work"
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
  install -D "$(command -v busybox || echo /nonexistent)" "$folder/usr/bin/env" 2>/dev/null || with_libraries "$(command -v env)" "$folder" /usr/bin/env
  said=$(inside "$folder" "$program" --version 2>&1) || true
  if [ -n "$url" ]; then answer=$(inside "$folder" "$program" -m openai/test -p hello 2>&1) || true; fi
  judged "$name" "$said" "$answer" "in a root of $(find "$folder" -type f | wc -l) files"
}

# judged NAME VERSION ANSWER WHERE: is that what it should have said?
judged() {
  if [ "$2" = "charla $version" ] && { [ -z "$url" ] || [ "$3" = "Hello there." ]; }; then
    printf 'ok      %-22s %s%s %s\n' "$1" "$2" "${3:+, answered}" "$4"
  else
    printf 'FAILED  %-22s %s / %s\n' "$1" "$2" "$3"
    failed=1
  fi
}

# with_libraries PROGRAM FOLDER PLACE: puts a program and what it is linked with into a root.
with_libraries() {
  local library
  install -D "$1" "$2$3"
  # Not every module is linked with something.
  { ldd "$1" | grep -o '/[^ ]*' || true; } | while read -r library; do install -D "$library" "$2$library"; done
}

# pages FOLDER: a line that tells how many manual pages lie there, and a failure where commands have none.
pages() {
  local count wanted
  count=$(find -L "$1" -name 'charla*.1*' | wc -l)
  wanted=$(find "$work/pages" -name '*.1' | wc -l)
  echo "        manual pages: $count"
  if [ "$count" != "$wanted" ]; then echo "FAILED  there are $wanted commands with a page" && failed=1; fi
}

skipped() { printf 'skipped %-22s %s\n' "$1" "$2"; }

is_static "$binary" && echo "the program is static" || echo "the program is not static: its libraries are put into each root"

if wants program; then
  bare "$work/plain" && install -D "$binary" "$work/plain/usr/bin/charla"
  tried "the program alone" "$work/plain" /usr/bin/charla
fi

dist=$work/dist
if wants archive || wants deb || wants npm || wants brew; then
  "$here/release.sh" --binary "$binary" "$dist" >"$work/log" || { cat "$work/log"; exit 1; }
  if (cd "$dist" && sha256sum --check --quiet SHA256SUMS); then echo "ok      checksums              of $(wc -l <"$dist/SHA256SUMS") files"; else failed=1; fi
  HOME=$work "$binary" man --into "$work/pages"
fi

if wants archive; then
  bare "$work/archive" && mkdir -p "$work/archive/usr/local"
  tar --extract --gzip --strip-components=1 --directory "$work/archive/usr/local" --file "$dist"/charla-"$version"-*.tar.gz
  tried "archive" "$work/archive" /usr/local/bin/charla
  pages "$work/archive/usr/local/share/man/man1"
  for completions in bash-completion/completions/charla zsh/vendor-completions/_charla fish/vendor_completions.d/charla.fish; do
    if [ ! -s "$work/archive/usr/local/share/$completions" ]; then echo "FAILED  there are no completions in $completions" && failed=1; fi
  done
fi

deb() {
  local package second
  package=$(echo "$dist"/*.deb)
  bare "$work/deb" && mkdir -p "$work/deb/var/lib/dpkg"/{info,updates,triggers} && touch "$work/deb/var/lib/dpkg"/{status,available}
  dpkg --root="$work/deb" --force-depends --force-not-root --force-bad-path --log=/dev/null --install "$package" >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
  tried "Debian package" "$work/deb" /usr/bin/charla
  pages "$work/deb/usr/share/man/man1"
  if [ -n "$(dpkg-deb --info "$package" conffiles 2>/dev/null)" ]; then echo "FAILED  the package has conffiles" && failed=1; fi
  second=$("$here/deb.sh" "$binary" "$work/again")
  if cmp "$package" "$second"; then echo "        made twice, it is the same"; else failed=1; fi
}
if wants deb; then deb; fi

if ! wants npm; then
  :
elif command -v npm >/dev/null; then
  bare "$work/npm"
  npm install --silent --global --offline --no-audit --no-fund --prefix "$work/npm/usr" "$dist/charla-$version.tgz" >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
  tried "npm package" "$work/npm" /usr/bin/charla
  pages "$work/npm/usr/share/man/man1"
else
  skipped "npm package" "npm is not installed"
fi

# python_in FOLDER: the system's Python and its library, and nothing that is installed for it.
python_in() {
  local folder=$1 stdlib module
  stdlib=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
  bare "$folder" && with_libraries "$(realpath /usr/bin/python3)" "$folder" /usr/bin/python3
  mkdir -p "$folder$stdlib"
  tar --create --directory "$stdlib" --exclude='*-packages' --exclude=__pycache__ --exclude=test . | tar --extract --directory "$folder$stdlib"
  for module in "$stdlib"/lib-dynload/*.so; do with_libraries "$module" "$folder" "$module"; done
}

wheel=${3:-$(find "$root/target/wheels" -name 'charla*.whl' 2>/dev/null | head -n 1 || true)}
if ! wants wheel; then
  :
elif [ -n "$wheel" ] && [ -x /usr/bin/python3 ]; then
  python_in "$work/wheel"
  python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --root-user-action=ignore --target "$work/wheel/opt" "$wheel"
  find "$work/wheel/opt" -name '*.so' | while read -r module; do with_libraries "$module" "$work/wheel" /tmp/native; done
  with_libraries "$(command -v env)" "$work/wheel" /usr/bin/env
  cat >"$work/wheel/ask.py" <<'PYTHON'
import asyncio, os, sys
sys.path.insert(0, "/opt")
import charla

print("charla", charla.__version__, flush=True)

async def main():
    async with charla.Agent(model="openai/test").session() as session:
        print(await session.ask("hello"))

if not os.environ["OPENAI_BASE_URL"].startswith("/"):
    asyncio.run(main())
PYTHON
  said=$(inside "$work/wheel" /usr/bin/python3 /ask.py 2>&1) || true
  answer=$(tail -n +2 <<<"$said")
  judged "Python wheel" "$(head -n 1 <<<"$said")" "$answer" "in a root of $(find "$work/wheel" -type f | wc -l) files"
else
  skipped "Python wheel" "none is built, or there is no Python of the system"
fi

engine=$(command -v podman || command -v docker || true)
variables=(OPENAI_API_KEY=key "OPENAI_BASE_URL=$url/v1" CHARLA_OFFLINE=1)
if ! wants container; then
  :
elif [ -n "$engine" ] && "$engine" info >/dev/null 2>&1; then
  install -m 755 "$binary" "$work/charla"
  if "$engine" build --quiet --file "$here/Containerfile" --build-arg BINARY=charla --tag charla-check "$work" >"$work/log" 2>&1; then
    ran=("$engine" run --rm --network=host "${variables[@]/#/--env=}" charla-check)
    judged "container" "$("${ran[@]}" --version 2>&1)" "$([ -z "$url" ] || "${ran[@]}" -m openai/test -p hello 2>&1 </dev/null)" "by $engine"
  else
    skipped "container" "its base image cannot be had: $(tail -n 1 "$work/log")"
  fi
elif [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
  if ran=$("$here/container.py" "$binary" "$work/container" "${variables[@]}" 2>"$work/log"); then
    judged "container" "$(eval "$ran --version" 2>&1)" "$([ -z "$url" ] || eval "$ran -m openai/test -p hello" 2>&1 </dev/null)" "in a root made step by step"
  else
    tail -n 5 "$work/log" && echo "FAILED  container" && failed=1
  fi
else
  skipped "container" "neither a container engine nor, for root, debootstrap is here"
fi

if ! wants brew; then
  :
elif command -v ruby >/dev/null; then
  bare "$work/brew"
  if ruby "$here/homebrew/try.rb" "$dist/charla.rb" "$binary" "$work/brew/usr" >"$work/log" 2>&1; then
    tried "Homebrew formula" "$work/brew" /usr/bin/charla
    pages "$work/brew/usr/share/man/man1"
  else
    cat "$work/log" && echo "FAILED  Homebrew formula" && failed=1
  fi
else
  skipped "Homebrew formula" "ruby is not installed"
fi
exit $failed
