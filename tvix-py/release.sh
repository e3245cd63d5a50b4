#!/usr/bin/env bash
# Builds what a release uploads, one platform a call; each runs on the kind of machine it names.
#
#   tvix-py/release.sh PLATFORM [OUT]
#
# One wheel a platform serves CPython 3.10 and later (abi3). Needs maturin and a Rust toolchain with the
# target (`rustup target add`); `linux-*` also needs Zig (`pip install ziglang`), which links against the old
# glibc that makes a wheel run on old systems, and against musl.
#
#   linux-gnu-x86_64    linux-gnu-aarch64    glibc 2.28 and later: Debian 10, Ubuntu 20.04, RHEL 8
#   linux-musl-x86_64   linux-musl-aarch64   Alpine
#   macos-x86_64        macos-aarch64        on macOS
#   windows-x86_64                           on Windows, from Git Bash, with the MSVC toolchain
#   sdist                                    the source, for everything else
#
# Free-threaded Python (3.13t, 3.14t) has no stable interface, so each version would need a wheel of its own:
# it builds from the sdist, and takes the GIL on import.
set -euo pipefail
cd "$(dirname "$0")"

platform=${1:?send a platform, or sdist; they are listed at the head of this file}
out=${2:-../target/wheels}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../Cargo.toml | head -n 1)
if [ -n "${GITHUB_REF_NAME:-}" ] && [ "${GITHUB_REF_NAME#v}" != "$version" ]; then
    echo "the tag $GITHUB_REF_NAME is not the version $version" >&2
    exit 1
fi

# `dist` is the profile that releases are built with.
build() { maturin build --profile dist --locked --out "$out" "$@"; }

case $platform in
linux-gnu-x86_64) build --target x86_64-unknown-linux-gnu --compatibility manylinux_2_28 --zig ;;
linux-gnu-aarch64) build --target aarch64-unknown-linux-gnu --compatibility manylinux_2_28 --zig ;;
linux-musl-x86_64) build --target x86_64-unknown-linux-musl --compatibility musllinux_1_2 --zig ;;
linux-musl-aarch64) build --target aarch64-unknown-linux-musl --compatibility musllinux_1_2 --zig ;;
macos-x86_64) MACOSX_DEPLOYMENT_TARGET=10.12 build --target x86_64-apple-darwin ;;
macos-aarch64) MACOSX_DEPLOYMENT_TARGET=11.0 build --target aarch64-apple-darwin ;;
windows-x86_64) build --target x86_64-pc-windows-msvc ;;
sdist) maturin sdist --out "$out" ;;
*)
    echo "unknown platform: $platform" >&2
    exit 2
    ;;
esac
