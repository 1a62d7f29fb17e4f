#!/usr/bin/env bash
# Ends what a run of the fault tests started, and removes its folder, once standard
# input is closed: that is when the tests have ended, in whatever way (Ctrl-C, a panic
# and kill -9 included). The environment is that of scripts/services.sh.
#
# Usage: clean.sh FOLDER
set -euo pipefail

dir=$1
services=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/services.sh
cat >/dev/null

# A process id may be used again: one of ours runs a binary of the folder.
for file in "$dir"/run/*.pid; do
	pid=$(cat "$file" 2>/dev/null) || continue
	if [[ $(ps -o args= -p "$pid" 2>/dev/null) == "$dir"/* ]]; then
		kill -9 "$pid" || true
	fi
done
"$services" kill-redis 2>/dev/null || true # it may be paused
"$services" down
rm -rf "$dir"
