#!/bin/sh
# three-nodes.sh DIR: makes a cluster of three nodes on this machine, in DIR, and serves it until you press Ctrl-C. When DIR has the nodes
# already, it serves them again.
#
# The API is at http://127.0.0.1:1337, :1338 and :1339. The nodes talk to one another at the ports 7331, 7332 and 7333.
# API_PORT and NODE_PORT are the first ports of each kind, and LECTERN is the program.
set -eu
dir=${1:?"usage: three-nodes.sh DIR"}
lectern=${LECTERN:-lectern}
api=${API_PORT:-1337}
port=${NODE_PORT:-7331}

# address prints at which address the other nodes reach a node.
address() { echo "127.0.0.1:$((port + $1 - 1))"; }

if [ ! -d "$dir" ]; then
	mkdir -p "$dir"
	"$lectern" cluster init "$dir/certificates" "node1@$(address 1)" "node2@$(address 2)" "node3@$(address 3)"
	for i in 1 2 3; do
		mkdir -p "$dir/node$i/data/cluster"
		cp "$dir/certificates/node$i/"* "$dir/node$i/data/cluster/"
	done
	"$lectern" init "$dir/first" >/dev/null # the content that the cluster begins with
	cp -R "$dir/first/." "$dir/node1/"
	rm -r "$dir/first"
fi

pids=
stop() {
	trap - INT TERM EXIT
	for pid in $pids; do kill "$pid" 2>/dev/null || true; done
	wait
}
trap stop INT TERM EXIT

for i in 1 2 3; do
	join=
	[ "$i" = 1 ] || join="--join $(address 1)"
	# shellcheck disable=SC2086 # $join is two words or none
	"$lectern" serve "$dir/node$i" --addr "127.0.0.1:$((api + i - 1))" --cluster "node$i@$(address "$i")" $join >>"$dir/node$i.log" 2>&1 &
	pids="$pids $!"
	echo "node$i: http://127.0.0.1:$((api + i - 1)), process $!, log $dir/node$i.log"
done
wait
