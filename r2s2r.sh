#!/usr/bin/env bash
# Runs r2s2r from a fresh checkout: finds CPython 3.12, makes .venv, installs the pinned requirements once, then hands
# its arguments on. `./r2s2r.sh test [pytest arguments]` runs the tests, `./r2s2r.sh setup` only sets up, anything
# else is a verb of the r2s2r command. PYTHON=/path/to/python3.12 chooses the interpreter.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
venv=$root/.venv
python=$venv/bin/python
stamp=$venv/r2s2r-installed
unfinished=$venv/r2s2r-installing
extras=sim,ground,train,test

say() { printf 'r2s2r.sh: %s\n' "$1" >&2; }
fail() { say "error: $1"; exit 2; }

# What the installed state depends on: the place of the checkout (editable install), the extras and these files.
wanted() {
    printf '%s %s\n' "$root" "$extras"
    cat "$root/pyproject.toml" "$root/setup.py" "$root/requirements/constraints.txt" "$root/requirements/excludes.txt"
}
is_current() { [ -x "$python" ] && [ -f "$stamp" ] && wanted | cmp -s - "$stamp"; }

# A version manager's shim may be on the path and fail: only an interpreter that runs counts.
is_cpython312() {
    "$1" -I -c 'import sys; sys.exit((sys.implementation.name, *sys.version_info[:2]) != ("cpython", 3, 12))' \
        >/dev/null 2>&1
}
can_make_venv() { "$1" -I -c 'import ensurepip, venv' >/dev/null 2>&1; }

candidates() {
    type -ap python3.12 python3 python || true
    printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12 \
        "${ASDF_DATA_DIR:-$HOME/.asdf}"/installs/python/3.12*/bin/python3.12 \
        "${MISE_DATA_DIR:-$HOME/.local/share/mise}"/installs/python/3.12*/bin/python3.12 \
        "${XDG_DATA_HOME:-$HOME/.local/share}"/uv/python/cpython-3.12*/bin/python3.12 \
        "${CONDA_PREFIX:-$HOME/miniconda3}"/bin/python3.12 \
        "$HOME"/{miniconda3,miniforge3,anaconda3}/envs/*/bin/python3.12 \
        /usr/local/bin/python3.12 /opt/homebrew/bin/python3.12 /opt/python3.12/bin/python3.12
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_cpython312 "$PYTHON" || fail "PYTHON=$PYTHON is not a CPython 3.12 that runs; unset it or name another one"
        command -v "$PYTHON"
        return
    fi
    local candidate
    while IFS= read -r candidate; do
        if is_cpython312 "$candidate" && can_make_venv "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done < <(candidates)
    return 1
}

# The pinned uv, installed into the environment whose python is $1.
install_uv() {
    "$1" -m pip install --quiet --disable-pip-version-check -c "$root/requirements/constraints.txt" uv \
        || fail "pip could not install uv; is there a package index? pip config set global.index-url URL names one"
}

# Without a CPython 3.12: let uv fetch one; if need be, install uv with whatever Python 3 there is.
venv_by_uv() {
    local uv aside
    say "no CPython 3.12 found: letting uv provide one"
    if ! uv=$(command -v uv || command -v "$HOME/.local/bin/uv"); then
        aside=$(mktemp -d)
        # shellcheck disable=SC2064  # the folder's name now, not at exit
        trap "rm -rf '$aside'" EXIT
        python3 -m venv "$aside" >/dev/null 2>&1 \
            || fail "neither CPython 3.12 nor uv nor a python3 with venv found; install python3.12 or set PYTHON"
        install_uv "$aside/bin/python"
        uv=$aside/bin/uv
    fi
    "$uv" venv --quiet --clear --seed --python 3.12 "$venv" || fail "uv could not provide CPython 3.12; set PYTHON to one"
}

make_venv() {
    # A half-done installation may hold half-copied packages that look whole: start again.
    if [ ! -e "$unfinished" ] && is_cpython312 "$python"; then return; fi
    local found
    if found=$(find_python); then
        say "making $venv with $found"
        "$found" -m venv --clear "$venv" || fail "$found could not make $venv"
    else
        [ -z "${PYTHON:-}" ] || exit 2 # find_python has said why
        venv_by_uv
    fi
}

# uv does not read pip's configuration: a machine whose pip is pointed at a mirror means it for uv too.
follow_pip_index() {
    local key url
    if [ -n "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then return; fi
    for key in :env:.index-url install.index-url global.index-url; do
        if url=$("$python" -m pip config get "$key" 2>/dev/null) && [ -n "$url" ]; then
            export UV_DEFAULT_INDEX=$url
            return
        fi
    done
}

install() {
    local quiet=
    rm -f "$stamp"
    make_venv
    : >"$unfinished"
    "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null 2>&1 || true
    install_uv "$python"
    follow_pip_index
    say "installing the pinned requirements (once; about 8 GB, some minutes)"
    [ -t 2 ] || quiet=yes # progress bars are for a terminal
    "$venv/bin/uv" pip install ${quiet:+--quiet} --python "$python" -c "$root/requirements/constraints.txt" \
        --excludes "$root/requirements/excludes.txt" -e "${root}[$extras]" \
        || fail "the installation failed (above); run the same command again to repeat it"
    wanted >"$stamp.new"
    mv "$stamp.new" "$stamp"
    rm -f "$unfinished"
    say "set up in $venv"
}

set_up() {
    if is_current; then return; fi
    (
        if command -v flock >/dev/null; then
            flock -n 9 || { say "waiting for another set-up of this checkout"; flock 9; }
        fi
        # The children keep the lock open: a killed set-up whose installer lives on is waited for too.
        is_current || install
    ) 9>"$root/.r2s2r-setup.lock"
}

if [ $# -eq 0 ]; then
    printf 'usage: ./r2s2r.sh demo [options] | test [pytest arguments] | setup | VERB [options]   (VERBs: ./r2s2r.sh --help)\n' >&2
    exit 2
fi

set_up

# Tests are small and several processes run them: a thread each, a file at a time.
if [ "$1" = test ]; then
    shift
    cd "$root"
    export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
    exec "$python" -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile "$@"
fi

# More threads than cores, or than a small model feeds, cost more than they give.
if [ -z "${OMP_NUM_THREADS:-}" ]; then
    cores=$(nproc 2>/dev/null || echo 2)
    export OMP_NUM_THREADS=$((cores < 8 ? cores : 8))
fi

if [ "$1" != setup ]; then exec "$python" -m r2s2r.cli.main "$@"; fi
