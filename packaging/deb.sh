#!/usr/bin/env bash
# Makes a Debian package: packaging/deb.sh BINARY FOLDER prints the path of what it made.
#
# No scripts run at installation and there are no settings beneath /etc: what is in the package is all there is.
set -euo pipefail
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

binary=$1 out=$2
arch=$(architecture "$binary")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

install -D -m 755 "$binary" "$tree/usr/bin/charla"
extras "$binary" "$tree/usr"
cp "$root/LICENSE" "$tree/usr/share/doc/charla/copyright"
mv "$tree/usr/share/doc/charla/CHANGELOG.md" "$tree/usr/share/doc/charla/changelog"
gzip -"${level:-9}" --no-name "$tree/usr/share/doc/charla/changelog"

depends="Recommends: ca-certificates, git"
if ! is_static "$binary"; then
  libc=$(readelf --version-info "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
  depends="Depends: libc6 (>= ${libc#GLIBC_}), libgcc-s1
$depends"
fi
mkdir "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: charla
Version: $version
Architecture: $arch
Maintainer: The Charla developers <charla@localhost>
Installed-Size: $(du --summarize --block-size=1024 "$tree/usr" | cut -f1)
$depends
Suggests: bash-completion
Section: utils
Priority: optional
Description: provider-neutral AI agent for terminal, scripts, browser and editor
 Asks any model (Gemini, OpenAI, Anthropic, local servers, a built-in one) and lets
 it work in a folder, with approval for what it does. Conversations are kept and
 survive whatever ends the program.
CONTROL
(cd "$tree" && find usr -type f -print0 | sort --zero-terminated | xargs --null md5sum >DEBIAN/md5sums)
find "$tree" -type d -exec chmod 755 {} +
find "$tree/usr/share" "$tree/DEBIAN" -type f -exec chmod 644 {} +
same_times "$tree"
mkdir -p "$out"
package=$out/charla_${version}_$arch.deb
dpkg-deb --root-owner-group --uniform-compression -Zxz -z"${level:-6}" --build "$tree" "$package" >/dev/null
echo "$package"
