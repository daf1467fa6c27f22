#!/bin/sh
# A temporary PostgreSQL server: starts it on the given port and prints "ready". When the standard input ends, stops the
# server and removes its files. The caller keeps the input open for as long as it needs the server.
#
#   tests/support/postgres.sh PORT
set -eu
port=$1
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")
# The server refuses to run as root; its package brings a user of its own.
if [ "$(id -u)" -eq 0 ]; then as="runuser -u postgres --"; else as=""; fi
cd /
folder=$($as mktemp -d)
trap '$as "$bin/pg_ctl" -D "$folder/data" -m immediate -s stop || true; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
$as "$bin/initdb" -D "$folder/data" -A trust -U test --no-sync -E UTF8 --locale=C >"$folder.log" 2>&1 ||
    { cat "$folder.log" >&2; exit 1; }
rm -f "$folder.log"
$as "$bin/pg_ctl" -D "$folder/data" -s -w -l "$folder/log" \
    -o "-p $port -k $folder -h 127.0.0.1 -F -c max_connections=600" start >&2 </dev/null
echo ready
cat >/dev/null
