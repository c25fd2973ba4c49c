#!/usr/bin/env bash
# Unpacks an image of packaging/image.sh, runs its command as a container would (in its root directory, read-only, by its user), and asks the
# server and the health check. Needs root and Node; no container engine.
#
#	packaging/test-image.sh IMAGE
set -euo pipefail

image=$(realpath "${1:?usage: packaging/test-image.sh IMAGE}")
work=$(mktemp -d)
server=
cleanup() {
	code=$?
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	[ "$code" = 0 ] || { echo "failed; the server said:" && cat "$work/log"; } >&2
	rm -rf "$work"
}
trap cleanup EXIT
: >"$work/log"

mkdir "$work/image" "$work/root"
tar -C "$work/image" -xf "$image"
# json FILE EXPRESSION: a value of a JSON file, lists as one word a line.
json() { node -e 'const j = JSON.parse(require("fs").readFileSync(process.argv[1])); console.log([eval(process.argv[2])].flat().join("\n"))' "$@"; }
json "$work/image/manifest.json" 'j[0].Layers' | while read -r layer; do tar -C "$work/root" -xf "$work/image/$layer"; done
config=$work/image/$(json "$work/image/manifest.json" 'j[0].Config')
mapfile -t environment < <(json "$config" 'j.config.Env')
mapfile -t entry < <(json "$config" 'j.config.Entrypoint')
mapfile -t arguments < <(json "$config" 'j.config.Cmd')
mapfile -t check < <(json "$config" 'j.config.Healthcheck.Test.slice(1)')
IFS=: read -r uid gid <<<"$(json "$config" 'j.config.User')"
[ "$uid" != 0 ] && [ "$gid" != 0 ]

# inside COMMAND…: runs it in the image.
inside() { exec env -i "${environment[@]}" "$(command -v chroot)" --userspec="$uid:$gid" --groups= "$work/root" "$@"; }

echo serve
(inside lectern version)
"$work/root/usr/bin/lectern" init "$work/blog" >/dev/null
cp -r "$work/blog/." "$work/root/project/"
rm -rf "$work/root/project/data"
touch "$work/started"
port=$((20000 + $$ % 20000))
inside "${entry[@]}" "${arguments[@]/:1337/:$port}" >>"$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do
	kill -0 "$server"
	if (inside "${check[@]}") >/dev/null 2>&1; then break; fi
	sleep 0.1
done
(inside "${check[@]}")
test "$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")" = "$uid"
test "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/_ready")" = 200
curl -sSf "http://127.0.0.1:$port/api/articles" | grep -q '"pagination"'
changed=$(find "$work/root" -newer "$work/started" -not -path "$work/root/data*")
[ -z "$changed" ] || { echo "the server changed $changed" >&2 && exit 1; }

echo stop
kill "$server"
wait "$server"
server=
! (inside "${check[@]}") >/dev/null 2>&1 || { echo 'the health check says that a stopped server is well' >&2 && exit 1; }
