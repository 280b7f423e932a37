#!/usr/bin/env bash
# Says what a change means for programs that embed the library, by the types of its crates:
#
#   scripts/semver.sh [BASELINE]
#
# BASELINE is a tag or a commit; without it the newest tag of a release (v*) that the commit has behind it. A crate whose version is
# the same as there must not have lost or changed anything: either the change goes, or the version grows. It builds the documentation
# of both sides and takes minutes, so it is no part of ./test.
#
# Needs cargo-semver-checks (`cargo install cargo-semver-checks --locked`).
set -euo pipefail
cd "$(dirname "$0")/.."

# What programs name: the library, and the crates whose types it gives on.
CRATES=(charla-proto charla-core charla-providers charla)

command -v cargo-semver-checks >/dev/null || {
    echo "cargo-semver-checks is missing: cargo install cargo-semver-checks --locked" >&2
    exit 1
}
baseline=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
[ -n "$baseline" ] || {
    echo "there is no release to compare with yet: name a commit" >&2
    exit 1
}
exec cargo semver-checks "${CRATES[@]/#/--package=}" --baseline-rev "$baseline"
