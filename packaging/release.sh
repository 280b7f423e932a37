#!/usr/bin/env bash
# Builds a release: the static program, its packages, checksums and the list of its parts.
#
#   packaging/release.sh [--target TRIPLE] [--binary FILE] [--twice] [FOLDER]
#
# --binary packs a program that is built already; --twice builds two times in two places and compares the bytes. FOLDER is `dist` when
# left out. TRIPLE is x86_64-unknown-linux-musl when left out; x86_64-unknown-linux-gnu is static, too, where Rust has no library for musl.
# CHARLA_RELEASE_URL is where all of it will lie: the Homebrew formula fetches the sources from there, and the program that is
# built asks there for `newest.json` when somebody says `charla update --check`.
set -euo pipefail
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

target=x86_64-unknown-linux-musl binary='' twice='' out=$root/dist
while [ $# -gt 0 ]; do
  case $1 in
    --target) target=$2 && shift 2 ;;
    --binary) binary=$(realpath "$2") && shift 2 ;;
    --twice) twice=1 && shift ;;
    -*) echo "error: $1 is not known" >&2 && exit 2 ;;
    *) out=$1 && shift ;;
  esac
done
if [ -n "$twice" ] && ! git -C "$root" diff --quiet HEAD; then
  echo "error: the second build is of the last commit, and these sources are not" >&2
  echo "hint: commit or put aside what \`git status\` shows" >&2
  exit 1
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

# build SOURCES TARGET_FOLDER: the program of these sources. Nothing of where it is built is in it.
build() {
  local sources=$1 folder=$2 cargo_home=${CARGO_HOME:-$HOME/.cargo} static=''
  # With musl a program is static by itself, with glibc when it is told to be.
  case $target in *-gnu) static=' -C target-feature=+crt-static' ;; esac
  # The C parts want a C compiler of the same C library.
  if [ "$target" = x86_64-unknown-linux-musl ]; then export CC_x86_64_unknown_linux_musl=${CC_x86_64_unknown_linux_musl:-musl-gcc}; fi
  (cd "$sources" && CARGO_TARGET_DIR=$folder CARGO_INCREMENTAL=0 TZ=UTC LC_ALL=C \
    CFLAGS="${CFLAGS:-} -ffile-prefix-map=$sources=/charla -ffile-prefix-map=$cargo_home=/cargo" \
    RUSTFLAGS="--remap-path-prefix=$sources=/charla --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$folder=/target$static" \
    cargo build --release --locked --package charla-cli --target "$target")
}

if [ -z "$binary" ]; then
  if [ -z "${CHARLA_RELEASE_URL:-}" ]; then echo "note: without CHARLA_RELEASE_URL the program does not know where to ask what is new" >&2; fi
  build "$root" "$root/target/reproducible"
  binary=$root/target/reproducible/$target/release/charla
  if [ -n "$twice" ]; then
    second=$(mktemp -d)
    git -C "$root" archive --prefix=elsewhere/ HEAD | tar --extract --directory "$second"
    build "$second/elsewhere" "$second/target"
    cmp "$binary" "$second/target/$target/release/charla" && echo "both builds are equal, byte for byte"
    rm -rf "$second"
  fi
fi

install -m 755 "$binary" "$out/charla"
name=charla-$version-$target
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
install -D -m 755 "$binary" "$tree/$name/bin/charla"
extras "$binary" "$tree/$name"
cp "$root/LICENSE" "$tree/$name/share/doc/charla/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$tree" --create "$name" |
  gzip -"${level:-9}" --no-name >"$out/$name.tar.gz"
git -C "$root" archive --format=tar --prefix="charla-$version/" HEAD | gzip -"${level:-9}" --no-name >"$out/charla-$version.tar.gz"
"$here/deb.sh" "$binary" "$out" >/dev/null
if command -v npm >/dev/null; then "$here/npm.sh" "$binary" "$out" >/dev/null; fi
python3 "$here/sbom.py" --target "$target" >"$out/charla.cdx.json"
url=${CHARLA_RELEASE_URL:-https://example.org/charla}
hash=$(sha256sum "$out/charla-$version.tar.gz" | cut -d' ' -f1)
sed "s|@HOMEPAGE@|$url|; s|@URL@|$url/charla-$version.tar.gz|; s|@SHA256@|$hash|" "$here/homebrew/charla.rb" >"$out/charla.rb"
printf '{"version": "%s", "url": "%s"}\n' "$version" "$url" >"$out/newest.json"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort --zero-terminated | xargs --null sha256sum >SHA256SUMS)
cat "$out/SHA256SUMS"
