#!/usr/bin/env bash
# Installs a deb package on this machine, runs the server as its unit does, upgrades, removes and purges it, and checks each step. It
# refuses to run where Lectern is installed, and leaves nothing behind. Needs root and a Debian system; systemd need not be running.
#
#	packaging/test-deb.sh DEB
set -euo pipefail

deb=$(realpath "${1:?usage: packaging/test-deb.sh DEB}")
for path in /etc/lectern /var/lib/lectern /var/backups/lectern /usr/bin/lectern; do
	[ ! -e "$path" ] || { echo "$path is there: this test is for machines without Lectern" >&2 && exit 1; }
done

work=$(mktemp -d)
chmod 755 "$work"
server=
cleanup() {
	code=$?
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	dpkg -P lectern >/dev/null 2>&1 || true
	rm -rf /etc/lectern /var/lib/lectern /var/backups/lectern
	! getent passwd lectern >/dev/null || userdel lectern
	[ "$code" = 0 ] || { echo "failed; the server said:" && cat "$work/log"; } >&2
	rm -rf "$work"
}
trap cleanup EXIT
: >"$work/log"

as() { runuser -u lectern -- "$@"; }
fails() { ! "$@" || { echo "must fail: $*" >&2 && return 1; }; }

# start runs the command of the installed unit under its user, and waits until the server is ready.
start() {
	local command
	read -ra command <<<"$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/lectern.service)"
	(umask 077 && exec setpriv --reuid=lectern --regid=lectern --clear-groups --no-new-privs --bounding-set=-all "${command[@]}") >>"$work/log" 2>&1 &
	server=$!
	for _ in $(seq 300); do
		kill -0 "$server"
		if as lectern health /etc/lectern >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo 'the server does not become ready' >&2
	return 1
}
stop() {
	kill "$server"
	wait "$server"
	server=
}
title() { curl -sSf "$base/api/articles?filters\[slug\]=bread&fields=title"; }

echo install
dpkg -i "$deb" >"$work/dpkg"
lectern version | head -2
test "$(stat -c '%U %a' /var/lib/lectern)" = 'lectern 700'
test "$(readlink /etc/lectern/data)" = /var/lib/lectern
gzip -dc /usr/share/man/man1/lectern.1.gz | grep -q '^\.TH'
bash -c '. /usr/share/bash-completion/completions/lectern && complete -p lectern' >/dev/null

echo run
lectern init "$work/blog" >/dev/null
cp -r "$work"/blog/content-types "$work"/blog/components /etc/lectern/
cp "$work/blog/config/permissions.yaml" "$work/blog/config/plugins.yaml" /etc/lectern/config/
port=$((20000 + $$ % 20000))
base=http://127.0.0.1:$port
sed -i "s/^port: .*/port: $port/" /etc/lectern/config/server.yaml
start
key=$(as lectern token create /etc/lectern editor 2>/dev/null)
curl -sSf "$base/api/articles" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
	-d '{"data":{"title":"Bread without a mixer","slug":"bread"}}' >/dev/null
title | grep -q 'Bread without a mixer'
test "$(stat -c '%U %a' /var/lib/lectern/content.db)" = 'lectern 600'

echo backup
backup() { as env "$1" /usr/lib/lectern/backup "${2:-/etc/lectern}" /var/backups/lectern; }
backup KEEP=14 2>/dev/null
as tar -tf /var/backups/lectern/lectern-*.tar >/dev/null
as touch /var/backups/lectern/{lectern-2025010{1..5}T000000Z.tar,lectern-mine.tar,other}
fails backup KEEP=2 /nowhere 2>/dev/null
fails backup KEEP=0 2>/dev/null
test "$(ls /var/backups/lectern | wc -l)" = 8
rm /var/backups/lectern/lectern-20*T??????Z.tar
as touch /var/backups/lectern/lectern-2025010{1..5}T000000Z.tar
backup KEEP=3 2>/dev/null
test "$(cd /var/backups/lectern && echo lectern-2025* lectern-m* o*)" = 'lectern-20250104T000000Z.tar lectern-20250105T000000Z.tar lectern-mine.tar other'
test "$(ls /var/backups/lectern | wc -l)" = 5

echo upgrade
dpkg-deb -R "$deb" "$work/newer"
sed -i 's/^Version: .*/Version: 99.0.0/' "$work/newer/DEBIAN/control"
echo '# a newer default' >>"$work/newer/etc/lectern/config/server.yaml"
dpkg-deb --root-owner-group -Znone -b "$work/newer" "$work/newer.deb" >/dev/null
dpkg --force-confold -i "$work/newer.deb" >"$work/dpkg"
grep -q "^port: $port" /etc/lectern/config/server.yaml
stop
start
title | grep -q 'Bread without a mixer'

echo 'way back'
dpkg --force-confold -i "$deb" >"$work/dpkg" 2>&1
stop
start
title | grep -q 'Bread without a mixer'
stop

echo remove
dpkg -r lectern >"$work/dpkg"
fails test -e /usr/bin/lectern
test -f /etc/lectern/config/server.yaml
test -f /var/lib/lectern/content.db

echo purge
dpkg -P lectern >"$work/dpkg" 2>&1
fails test -e /etc/lectern/config/server.yaml
test -f /etc/lectern/config/permissions.yaml
test -f /var/lib/lectern/content.db
