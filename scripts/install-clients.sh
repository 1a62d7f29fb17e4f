#!/usr/bin/env bash
# Installs what the scripts of test/clients/NAME run with, outside the tree, and prints the folder:
# venv for a requirements.txt, node_modules for a package-lock.json. Needs python3 (3.10 or newer)
# with venv, node and npm. A folder of the tree, such as sdk/typescript, also gets a link node_modules.
#
#   scripts/install-clients.sh NAME
#   scripts/install-clients.sh FOLDER/OF/TREE
#
# The folder is named after the hash of these files, so that an old install is left as it is. The
# script may be run by several processes at once, and repairs an install that is half there.
set -euo pipefail

name=${1:?the name of a folder in test/clients, or a folder of the tree}
[[ $name == */* ]] || name=test/clients/$name
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/once.sh
. "$here/scripts/once.sh"
source=$here/$name
pins=()
for file in requirements.txt package.json package-lock.json; do
	[[ ! -f $source/$file ]] || pins+=("$source/$file")
done
((${#pins[@]} > 0)) || { echo "there is no requirements.txt and no package-lock.json in $source" >&2; exit 1; }

need() {
	command -v "$1" >/dev/null || { echo "$1 is needed by the clients of $name and was not found" >&2; exit 1; }
}
versions=
if [[ -f $source/requirements.txt ]]; then
	need python3
	versions+=$(python3 --version)
fi
if [[ -f $source/package-lock.json ]]; then
	need node
	need npm
	versions+=$(node --version)
fi

root=$("$here/scripts/tools-dir.sh")
hash=$({ echo "$versions"; cat "${pins[@]}"; } | sha256sum | cut -c 1-16)
dir=$root/clients-$hash
mark=$dir/.installed

# list prints every installed file with its size, except what Python compiles while it runs.
list() {
	(cd "$dir" && find . -type d -name __pycache__ -prune -o -type f ! -name .installed -printf '%p %s\n' | LC_ALL=C sort)
}

# usable succeeds when every file is there with the size that it had when the install was finished.
usable() {
	[[ -f $mark ]] && list | cmp -s - "$mark"
}

install() {
	echo "installing the clients of $name (once)" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	if [[ -f $source/requirements.txt ]]; then
		python3 -m venv "$dir/venv" >&2
		"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$source/requirements.txt" >&2
		"$dir/venv/bin/python" -m pip check >&2
	fi
	if [[ -f $source/package-lock.json ]]; then
		cp "$source/package.json" "$source/package-lock.json" "$dir/"
		# No script of a package is run.
		(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >&2
	fi
	# Last, so that an interrupted install is never taken for a finished one.
	list >"$dir.list"
	mv "$dir.list" "$mark"
}

once "$root/.clients-$hash.lock" usable install
# A node_modules that is a folder was made by hand, and is left as it is.
if [[ $name != test/clients/* && -d $dir/node_modules && (-L $source/node_modules || ! -d $source/node_modules) ]]; then
	ln -sfn "$dir/node_modules" "$source/node_modules"
fi
echo "$dir"
