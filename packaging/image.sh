#!/usr/bin/env bash
# Builds a container image of each Linux archive in DIST for docker load, without a daemon, and adds it to SHA256SUMS. Needs root,
# buildah and ca-certificates. The same archives and certificates give the same image.
#
#	packaging/image.sh DIST
set -euo pipefail

dist=$(cd "${1:?usage: packaging/image.sh DIST}" && pwd)
cd "$(dirname "$0")/.."
timestamp=$(git log -1 --format=%ct)
certificates=/etc/ssl/certs/ca-certificates.crt

umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '{"default": [{"type": "insecureAcceptAnything"}]}' >"$work/policy.json" # nothing is pulled
buildah() { command buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }

for archive in "$dist"/lectern_*_linux_*.tar.gz; do
	name=$(basename "$archive" .tar.gz)
	tar -C "$work" -xzf "$archive"
	context=$work/$name
	cp "$certificates" "$context/"
	mkdir "$context/data"
	version=${name#lectern_} arch=${name##*_} variant=()
	version=${version%%_*}
	[ "$arch" != armv7 ] || arch=arm variant=(--variant v7)
	buildah build -q --isolation chroot --signature-policy "$work/policy.json" --format docker --timestamp "$timestamp" \
		--arch "$arch" "${variant[@]}" --label "org.opencontainers.image.version=$version" \
		-t "lectern:$version" -f packaging/Dockerfile "$context" >/dev/null
	rm -f "$dist/$name.docker.tar"
	buildah push -q --signature-policy "$work/policy.json" "lectern:$version" "docker-archive:$dist/$name.docker.tar:lectern:$version"
done
(cd "$dist" && sha256sum lectern[_-]* >SHA256SUMS)
