#!/usr/bin/env bash
# Builds the release archives of the commit that is checked out, each with its bill of materials (CycloneDX), and their
# checksums. The same commit gives the same bytes, in any directory and at any time, with the same versions of Go, Node,
# tar, gzip and zip.
#
#	packaging/build.sh OUT [TARGET…]
#
# A TARGET is GOOS_GOARCH, such as linux_armv7; without one, all are built. VERSION is that of the tag of the commit; a commit without one
# gets a version that Go and package managers sort before the next release. With REUSE_PAGES=1 the pages for browsers are taken as
# go generate has left them.
set -euo pipefail

out=$(mkdir -p "${1:?usage: packaging/build.sh OUT [TARGET…]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
targets=("$@")
[ $# -gt 0 ] || targets=(linux_amd64 linux_arm64 linux_armv7 darwin_amd64 darwin_arm64 windows_amd64)

commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
version=${VERSION:-$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null ||
	echo "v0.0.0-$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)-${commit:0:12}")}
if [ -n "$(git status --porcelain)" ]; then
	commit="$commit with changes" version=$version+dirty
	echo 'warning: there are changes that are not committed; do not release this build' >&2
fi

export CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOARM=7 GOFLAGS=-buildvcs=false GOEXPERIMENT= GOTOOLCHAIN=local GOWORK=off LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile FILE: the program, for the system of GOOS and GOARCH.
compile() {
	go build -trimpath -o "$1" -ldflags "-s -w -buildid= -X lectern/command.Version=$version -X 'lectern/command.Commit=$commit'" .
}

[ "${REUSE_PAGES:-}" = 1 ] || go generate ./gateway ./desk
go build -trimpath -o "$work/sbom" ./packaging/sbom

# All systems get the completions and the man page that the program prints on this machine.
compile "$work/lectern"
mkdir "$work/completions" "$work/man"
"$work/lectern" completion bash >"$work/completions/lectern.bash"
"$work/lectern" completion zsh >"$work/completions/_lectern"
"$work/lectern" completion fish >"$work/completions/lectern.fish"
"$work/lectern" man >"$work/man/lectern.1"

# licences BINARY: the licence texts of the modules in a binary.
licences() {
	local path dir file
	go version -m "$1" | awk '$1 == "dep" { print $2 }' | xargs go list -m -f '{{.Path}} {{.Version}} {{.Dir}}' | while read -r path version dir; do
		for file in "$dir"/LICEN[CS]E* "$dir"/COPYING* "$dir"/NOTICE*; do
			[ ! -f "$file" ] || printf '== %s %s: %s\n\n%s\n\n' "$path" "$version" "${file##*/}" "$(cat "$file")"
		done
	done
	printf '== Go %s: LICENSE\n\n%s\n' "$(go env GOVERSION)" "$(cat "$(go env GOROOT)/LICENSE")"
}

# build TARGET: its archive and bill of materials in $out.
build() {
	local os=${1%_*} arch=${1#*_} name=lectern_${version#v}_$1
	local dir=$work/$name
	local program=$dir/lectern
	[ "$os" != windows ] || program=$program.exe
	mkdir -p "$dir"
	GOOS=$os GOARCH=${arch/armv7/arm} compile "$program"
	cp -r LICENSE README.md CHANGELOG.md "$work/completions" "$work/man" "$dir"
	licences "$program" >"$dir/THIRD_PARTY_LICENSES"
	"$work/sbom" -version "$version" -time "$SOURCE_DATE_EPOCH" -npm gateway/internal/pages/sandbox/package-lock.json "$program" >"$out/$name.cdx.json"
	find "$dir" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	if [ "$os" = windows ]; then
		rm -f "$out/$name.zip"
		(cd "$work" && find "$name" -type f | sort | zip -qX -@ "$out/$name.zip")
	else
		tar -C "$work" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
	fi
	rm -rf "$dir"
}

rm -f "$out/SHA256SUMS"
for target in "${targets[@]}"; do
	echo "$target"
	build "$target"
done
(cd "$out" && sha256sum lectern_* >SHA256SUMS)
