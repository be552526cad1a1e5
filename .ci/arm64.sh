#!/usr/bin/env bash
# ARM64 under emulation: `make arm64`. Needs root, debootstrap, qemu-user-static, binfmt_misc in the kernel, Debian's
# packages and wheels of PyPI, 3 GB on the disk, and patience: everything takes some ten times as long as natively.
#
# bash .ci/arm64.sh FOLDER WHEEL PIP STEP ...; steps are root, compile, hint, ffo, book, serve, tests; without any, all of
# them. TESTS names other tests than the small ones of the engine, the book and the dialogues.
set -euo pipefail
folder=$(realpath "$1") wheel=$(realpath "$2") pip=$3
shift 3
root=$folder/root

say() { echo "== $* ($(date -u +%H:%M:%S), ${SECONDS} s)"; }

need() {
    for program in debootstrap qemu-aarch64-static dpkg-deb chroot; do
        command -v "$program" >/dev/null || { echo "$program is missing: apt-get install debootstrap qemu-user-static"; exit 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "only root may change the root folder of a process"; exit 1; }
    [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    if [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
        # F: the emulator is opened now, so that it need not be inside the new root.
        printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F' \
            >/proc/sys/fs/binfmt_misc/register
    fi
}

# Gone at the end: nobody who removes the folder may remove the devices of this machine.
mounted() {
    for each in dev proc; do
        mkdir -p "$root/$each"
        mountpoint -q "$root/$each" || { mount --rbind "/$each" "$root/$each" && mount --make-rslave "$root/$each"; }
    done
    trap 'umount -l "$root/dev" "$root/proc"' EXIT
}

inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 \
    DESDAEMON_CACHE_DIR=/var/cache/desdaemon DESDAEMON_RUNTIME_DIR=/run/desdaemon "$@"; }

desdaemon() { inside /usr/bin/python3 -m desdaemon "$@"; }

step_root() {
    if [ ! -e "$root/usr/bin/python3" ]; then
        say "Debian's packages for arm64"
        debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libstdc++6 bookworm "$root" >"$folder/debootstrap.log"
        # Unpacked is enough: nothing here needs what the packages' own programs would set up.
        for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
        [ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
    fi
    mkdir -p "$root/usr/lib/python3/dist-packages"
    echo /var/lib/desdaemon-site >"$root/usr/lib/python3/dist-packages/desdaemon.pth"
    say "wheels for arm64"
    "$pip" install -q --disable-pip-version-check --upgrade --target "$root/var/lib/desdaemon-site" --python-version 3.11 --only-binary :all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 \
        --platform manylinux2014_aarch64 "$wheel"
    mounted
    mkdir -p "$root/var/cache/desdaemon" "$root/run" "$root/tmp"
    inside /usr/bin/python3 -c 'import platform, sys; print(sys.version); print(platform.platform(), platform.machine())'
    inside /usr/bin/python3 -c 'import llvmlite.binding as llvm, llvmlite, numpy, zmq, msgpack
from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in ("llvmlite", "numba", "numpy", "pyzmq", "msgpack")))'
}

step_compile() {
    say "compiling under emulation"
    desdaemon warmup
    desdaemon doctor --quick
}

step_hint() {
    say "hint"
    printf 'hint 3\nquit\n' | desdaemon -q -l 8 -n 1
}

step_ffo() {
    say "FFO 1-5, exact"
    problems=${PROBLEMS:-../shared/data/problems}/fforum-1-19.obf
    [ -r "$problems" ] || { echo "$problems is not there: PROBLEMS names the folder of the fforum problems"; return; }
    head -5 "$problems" >"$root/var/lib/ffo.obf"
    desdaemon -n 1 -l 60 -solve /var/lib/ffo.obf
}

step_book() {
    say "a book, grown and opened again"
    rm -rf "$root/tmp/book" && mkdir -p "$root/tmp/book"
    printf 'book new 2 8\nbook deviate 1 1\nbook save /tmp/book/small.book\nquit\n' | desdaemon -q -n 1
    printf 'book load /tmp/book/small.book\nbook info\nbook verify\nquit\n' | desdaemon -q -n 1
}

step_serve() {
    say "serve, with one client"
    inside /usr/bin/python3 -m desdaemon serve -n 1 -l 5 --data /tmp/data & server=$!
    for _ in $(seq 120); do [ -e "$root/run/desdaemon/connection.json" ] && break; sleep 1; done
    desdaemon shell --timeout 60 --json -c 'analyze {"moves": "f5", "level": 5}'
    # The shell's child is the function; the daemon says itself which process it is.
    kill "$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$root/run/desdaemon/connection.json")"
    wait "$server" || true
}

step_tests() {
    say "small tests of the engine, the book and the dialogues"
    local source=$root/var/lib/desdaemon-source
    "$pip" install -q --disable-pip-version-check --upgrade --target "$root/var/lib/desdaemon-site" --python-version 3.11 \
        --only-binary :all: --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 pytest pytest-timeout hypothesis
    rm -rf "$source" && mkdir -p "$source"
    git ls-files -z daemon engine book protocol clients tests docs pyproject.toml | xargs -0 cp --parents -t "$source"
    # shellcheck disable=SC2086
    inside /bin/sh -c 'cd /var/lib/desdaemon-source && exec /usr/bin/python3 -m pytest "$@"' sh -q -m 'not slow' \
        -p no:cacheprovider --timeout=3600 --durations=5 ${TESTS:-tests/engine/test_kernels.py \
        tests/engine/test_exact_search.py tests/book/storage/test_book_store.py tests/dialogue/test_stdio.py}
}

steps=("$@")
[ $# -gt 0 ] || steps=(root compile hint ffo book serve tests)
need
[ ! -e "$root/usr/bin/python3" ] || mounted
for step in "${steps[@]}"; do "step_$step"; done
say "done"
