#!/bin/sh
# Makes the pictures of the terminal and of the page in docs/ anew, from real runs of the binary against the scripted server.
set -eu
cd "$(dirname "$0")/.."
cargo nextest run -p charla-cli --test tui --run-ignored only pictures::
cargo nextest run -p charla-cli --test cli --run-ignored only the_picture_of_the_handbook
