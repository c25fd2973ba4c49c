#!/usr/bin/env bash
# Makes a deb and an rpm package of each Linux archive in DIST, and adds them to SHA256SUMS. The same archives give the same packages.
#
#	packaging/package.sh DIST
set -euo pipefail

dist=$(cd "${1:?usage: packaging/package.sh DIST}" && pwd)
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Newer versions need modules that the Go module proxy does not have.
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2

umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work GOFLAGS= go install "$NFPM"

for archive in "$dist"/lectern_*_linux_*.tar.gz; do
	STAGE=$work/$(basename "$archive" .tar.gz)
	tar -C "$work" -xzf "$archive"
	name=${STAGE##*/lectern_}
	VERSION=${name%%_*} ARCH=${name##*_}
	[ "$ARCH" != armv7 ] || ARCH=arm7
	export STAGE VERSION ARCH
	gzip -9n "$STAGE/man/lectern.1"
	for format in deb rpm; do
		"$work/nfpm" package --config packaging/nfpm.yaml --packager "$format" --target "$dist/"
	done
done
(cd "$dist" && sha256sum lectern[_-]* >SHA256SUMS)
