# Sourced by ./test: makes the Python environments that tests need, and installs MCP servers, the engine, torch, a browser, tmux and PostgreSQL.

# make_test_env ROOT
#   Installs ROOT/tests/requirements.txt into ROOT/.test-env/venv and exports CHARLA_TEST_PYTHON.
make_test_env() {
    export CHARLA_TEST_PYTHON=$1/.test-env/venv/bin/python
    make_env "$1/tests/requirements.txt" "$1/.test-env/venv"
}

# make_wheel ROOT
#   Builds the Python package as a wheel and installs it into ROOT/.test-env/wheel, with what its tests need.
#   Exports CHARLA_TEST_WHEEL_PYTHON. The wheel's crates are those of the program, built as for it.
make_wheel() {
    local root=$1
    local venv=$root/.test-env/wheel
    local wheels=$root/target/wheels
    export CHARLA_TEST_WHEEL_PYTHON=$venv/bin/python
    make_env "$root/bindings/python/tests/requirements.txt" "$venv" || return 1
    rm -rf "$wheels"
    "$CHARLA_TEST_WHEEL_PYTHON" -m maturin build --quiet --locked --profile dev --out "$wheels" \
        --manifest-path "$root/bindings/python/Cargo.toml" || return 1
    local into=()
    if [ -d "$venv/packages" ]; then into=(--target "$venv/packages" --upgrade --root-user-action=ignore); fi
    "$CHARLA_TEST_WHEEL_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --no-index \
        --force-reinstall "${into[@]}" "$wheels"/charla-*.whl
}

# make_env REQUIREMENTS VENV
#   Installs the requirements into an environment of their own.
#   Does nothing when the environment stands and the requirements have not changed.
#   Without the venv module it installs into a plain directory instead.
make_env() {
    local requirements=$1
    local venv=$2
    local stamp=$venv/requirements.sha256
    local wanted
    wanted=$(sha256sum <"$requirements") || return 1

    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    if ! command -v python3 >/dev/null; then
        echo "error: python3 is needed to test the Python package, and against the official SDKs" >&2
        return 1
    fi

    # An environment that is incomplete has no stamp, so it is made anew.
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    if python3 -m venv "$venv" >/dev/null 2>&1; then
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            -r "$requirements" || return 1
    else
        rm -rf "$venv"
        make_plain_env "$venv" "$requirements" || return 1
    fi
    printf '%s\n' "$wanted" >"$stamp"
}

# make_mcp_servers ROOT
#   Installs the MCP servers of ROOT/tests/mcp-servers.txt from npm into ROOT/.test-env/mcp and exports CHARLA_TEST_MCP.
#   Does nothing when they are there and the list has not changed.
make_mcp_servers() {
    local list=$1/tests/mcp-servers.txt
    local folder=$1/.test-env/mcp
    local stamp=$folder/servers.sha256
    local wanted
    wanted=$(sha256sum <"$list") || return 1

    export CHARLA_TEST_MCP=$folder
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    command -v npm >/dev/null || install_package npm || {
        echo "error: npm is needed to test against MCP servers" >&2
        return 1
    }
    rm -rf "$folder"
    mkdir -p "$folder"
    # shellcheck disable=SC2046 # one package a line, without blanks
    npm install --prefix "$folder" --no-audit --no-fund --silent $(grep -v '^#' "$list") || return 1
    printf '%s\n' "$wanted" >"$stamp"
}

# make_engine ROOT
#   Installs the engine and the built-in model into ROOT/.test-env/cache, as a user would, and checks what is there.
make_engine() {
    local root=$1
    CHARLA_CACHE=$root/.test-env/cache CHARLA_OFFLINE=0 \
        cargo run --quiet --locked --manifest-path "$root/Cargo.toml" -p charla-cli -- models pull
}

# make_training ROOT
#   Finds a Python with torch, or installs Debian's (for the CPU: 150 MB), and what else training the built-in model needs into
#   ROOT/.test-env/training. Exports CHARLA_TEST_TRAINING_PYTHON, which runs it.
make_training() {
    local list=$1/model/tests/requirements.txt
    local folder=$1/.test-env/training
    local python wanted
    python=$(find_torch)
    if [ -z "$python" ]; then
        # Without OpenBLAS it multiplies ten times slower.
        install_package python3-torch libopenblas0-pthread || true
        python=$(find_torch)
    fi
    if [ -z "$python" ]; then
        echo "error: torch is needed to test how the built-in model is trained" >&2
        return 1
    fi
    export CHARLA_TEST_TRAINING_PYTHON=$folder/bin/python
    wanted="$python $(sha256sum <"$list")" || return 1
    if [ "$(cat "$folder/requirements.sha256" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    rm -rf "$folder"
    mkdir -p "$folder/bin" "$folder/packages"
    # Another Python may have pip than the one that has torch.
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary :all: \
        --python-version "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" \
        --target "$folder/packages" -r "$list" || return 1
    {
        echo '#!/bin/sh'
        printf 'PYTHONPATH="%s" exec %s "$@"\n' "$folder/packages" "$python"
    } >"$folder/bin/python"
    chmod +x "$folder/bin/python"
    printf '%s\n' "$wanted" >"$folder/requirements.sha256"
}

find_torch() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import numpy, torch' 2>/dev/null; then
            echo "$python"
            return 0
        fi
    done
}

# make_small_programs
#   Finds or installs what recipes for CI use (jq), what gives tests networks of their own (ip) and what reads the Homebrew formula (ruby).
make_small_programs() {
    command -v jq >/dev/null || install_package jq || {
        echo "error: jq is needed to test the recipes for CI" >&2
        return 1
    }
    command -v ip >/dev/null || install_package iproute2 || true
    command -v ruby >/dev/null || install_package ruby || true
}

# make_browser
#   Finds Chromium, or installs Debian's, and exports CHARLA_TEST_BROWSER.
make_browser() {
    local found
    found=$(find_browser)
    if [ -z "$found" ]; then
        install_package chromium || return 1
        found=$(find_browser)
    fi
    if [ -z "$found" ]; then
        echo "error: Chromium is needed to test the web page" >&2
        return 1
    fi
    export CHARLA_TEST_BROWSER=$found
}

find_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome || true
}

# make_multiplexer
#   Finds tmux, or installs Debian's.
make_multiplexer() {
    command -v tmux >/dev/null || install_package tmux || {
        echo "error: tmux is needed to test the interactive terminal" >&2
        return 1
    }
}

# make_database
#   Finds PostgreSQL's programs, or installs Debian's. Tests make clusters of their own.
make_database() {
    find_database && return 0
    install_package postgresql || return 1
    find_database || {
        echo "error: PostgreSQL is needed to test several servers on one database" >&2
        return 1
    }
}

# make_proxy
#   Finds nginx, or installs Debian's: the handbook's proxy is tried with it.
make_proxy() {
    command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || install_package nginx || {
        echo "error: nginx is needed to test the server behind a proxy" >&2
        return 1
    }
}

find_database() {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

# Installs packages of Debian's.
install_package() {
    local apt="apt-get"
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then apt="sudo apt-get"; fi
    $apt update -qq && $apt install -y -qq --no-install-recommends "$@" >/dev/null
}

# A directory of packages, and a python that finds them: for systems whose python3 comes without venv.
make_plain_env() {
    local venv=$1
    local requirements=$2
    mkdir -p "$venv/bin" "$venv/packages"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --target "$venv/packages" -r "$requirements" || return 1
    {
        echo '#!/bin/sh'
        printf 'PYTHONPATH="%s" exec python3 "$@"\n' "$venv/packages"
    } >"$venv/bin/python"
    chmod +x "$venv/bin/python"
}
