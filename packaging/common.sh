# Sourced by the scripts beside it.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
# The time of everything that is packed: that of the sources.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# How hard gzip and xz try: what is packed for a look need not be small.
level=${CHARLA_PACK_LEVEL:-}

# extras BINARY FOLDER: manual pages and completions, as a package lays them out below /usr.
extras() {
  local binary=$1 folder=$2 home
  home=$(mktemp -d)
  mkdir -p "$folder/share/man/man1" "$folder/share/bash-completion/completions" "$folder/share/zsh/vendor-completions" \
    "$folder/share/fish/vendor_completions.d" "$folder/share/doc/charla"
  if ! HOME=$home "$binary" man --into "$folder/share/man/man1" 2>/dev/null; then
    # A program from before there was a page for each command.
    HOME=$home "$binary" man >"$folder/share/man/man1/charla.1"
  fi
  gzip -"${level:-9}" --no-name --force "$folder"/share/man/man1/*.1
  HOME=$home "$binary" completions bash >"$folder/share/bash-completion/completions/charla"
  HOME=$home "$binary" completions zsh >"$folder/share/zsh/vendor-completions/_charla"
  HOME=$home "$binary" completions fish >"$folder/share/fish/vendor_completions.d/charla.fish"
  cp "$root/README.md" "$root/CHANGELOG.md" "$folder/share/doc/charla/"
  rm -rf "$home"
}

# same_times FOLDER: nothing of when it was packed is in a package.
same_times() {
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# architecture BINARY: Debian's word for what it runs on.
architecture() {
  case $(od -An -tx1 -j18 -N2 "$1" | tr -d ' ') in
    3e00) echo amd64 ;;
    b700) echo arm64 ;;
    *) echo "error: $1 is for a machine that no package is made for" >&2 && return 1 ;;
  esac
}

# is_static BINARY: true when it needs nothing beside the kernel.
is_static() {
  ! readelf --program-headers "$1" 2>/dev/null | grep -q INTERP
}
