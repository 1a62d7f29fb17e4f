#!/usr/bin/env bash
# Stops the processes of a fault test and removes its folder when standard input is closed: when the
# test has ended, also by Ctrl-C, a panic or kill -9. It needs the environment of
# scripts/services.sh.
#
# Usage: clean.sh FOLDER
set -euo pipefail

dir=$1
services=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/services.sh
cat >/dev/null

# The system reuses process ids: kill only processes that run a binary of the folder.
for file in "$dir"/run/*.pid; do
	pid=$(cat "$file" 2>/dev/null) || continue
	if [[ $(ps -o args= -p "$pid" 2>/dev/null) == "$dir"/* ]]; then
		kill -9 "$pid" || true
	fi
done
"$services" kill-redis 2>/dev/null || true # it may be paused
"$services" down
rm -rf "$dir"
