#!/usr/bin/env bash
# Makes an npm package that carries the binary: packaging/npm.sh BINARY FOLDER prints the path of what it made.
#
# The command is the binary itself: nothing of JavaScript runs, at installation or later.
set -euo pipefail
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

binary=$1 out=$2
case $(architecture "$binary") in amd64) cpu=x64 ;; arm64) cpu=arm64 ;; esac
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

install -D -m 755 "$binary" "$tree/bin/charla"
extras "$binary" "$tree/usr"
mkdir "$tree/man"
mv "$tree"/usr/share/man/man1/*.gz "$tree/man/"
rm -rf "$tree/usr"
pages=$(cd "$tree" && printf '"%s", ' man/*)
cp "$root/README.md" "$root/LICENSE" "$tree/"
sed "s/@VERSION@/$version/; s/@CPU@/$cpu/; s|@PAGES@|${pages%, }|" "$here/npm/package.json" >"$tree/package.json"
mkdir -p "$out"
out=$(cd "$out" && pwd)
(cd "$tree" && npm pack --silent --pack-destination "$out" >/dev/null)
echo "$out/charla-$version.tgz"
