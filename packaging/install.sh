#!/bin/sh
# Installs the foxwedge binary. A template: `cargo xtask dist --finish` writes the version and the address.
#
#   FOXWEDGE_INSTALL_DIR  folder for the binary [default: ~/.local/bin]
#   FOXWEDGE_VERSION      another version
#   FOXWEDGE_RELEASES     another address that holds the archives and their .sha256 files
#   FOXWEDGE_TARGET       another target, such as x86_64-unknown-linux-gnu
set -eu

version="${FOXWEDGE_VERSION:-@VERSION@}"
releases="${FOXWEDGE_RELEASES:-@RELEASES@}"
folder="${FOXWEDGE_INSTALL_DIR:-${HOME:?HOME is not set}/.local/bin}"

fail() {
    printf 'error: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf '  help: %s\n' "$2" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

target() {
    system="$(uname -s)"
    machine="$(uname -m)"
    case "$system $machine" in
        "Linux x86_64" | "Linux amd64") echo x86_64-unknown-linux-musl ;;
        "Linux aarch64" | "Linux arm64") echo aarch64-unknown-linux-musl ;;
        "Darwin x86_64") echo x86_64-apple-darwin ;;
        "Darwin arm64") echo aarch64-apple-darwin ;;
        *) fail "there is no binary for $system $machine" "build it with cargo: see docs/install.md" ;;
    esac
}

# Writes the file at an address ($1) to a path ($2).
download() {
    if have curl; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif have wget; then
        wget --quiet --output-document="$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi
}

# Prints the SHA-256 of a file.
checksum() {
    if have sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif have shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum nor shasum is installed" "the archive is not installed unchecked"
    fi
}

main() {
    target="${FOXWEDGE_TARGET:-$(target)}"
    name="foxwedge-$version-$target"
    temporary="$(mktemp -d)"
    trap 'rm -rf "$temporary"' EXIT INT TERM
    download "$releases/$name.tar.gz" "$temporary/archive" || fail "$releases/$name.tar.gz cannot be downloaded"
    download "$releases/$name.tar.gz.sha256" "$temporary/expected" || fail "the checksum of $name cannot be downloaded"
    expected="$(cut -d ' ' -f 1 "$temporary/expected")"
    actual="$(checksum "$temporary/archive")"
    if [ -z "$expected" ] || [ "$expected" != "$actual" ]; then
        fail "the checksum of $name.tar.gz is $actual, not $expected" "nothing was installed; try again later"
    fi
    tar -xzf "$temporary/archive" -C "$temporary"
    mkdir -p "$folder"
    # A new file under the old name: a running foxwedge keeps its own.
    cp "$temporary/$name/foxwedge" "$folder/.foxwedge.new"
    chmod 755 "$folder/.foxwedge.new"
    mv -f "$folder/.foxwedge.new" "$folder/foxwedge"
    printf 'installed %s: %s\n' "$folder/foxwedge" "$("$folder/foxwedge" --version)"
    case ":$PATH:" in
        *":$folder:"*) ;;
        *) printf '  help: add %s to your PATH\n' "$folder" ;;
    esac
}

main
