#!/usr/bin/env bash
# Installs schemathesis, with every dependency at the version that
# tools/schemathesis.txt pins, into a virtual environment outside the tree, and
# prints the path of its command. Needs python3 (3.10 or newer) with venv.
#
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/once.sh
. "$here/scripts/once.sh"
pins=$here/tools/schemathesis.txt
version=$(sed -n 's/^schemathesis==//p' "$pins")
[[ -n $version ]] || { echo "no schemathesis version in $pins" >&2; exit 1; }

root=$("$here/scripts/tools-dir.sh")
dir=$root/schemathesis-$version
bin=$dir/bin/schemathesis
mark=$dir/.installed

# usable succeeds when the install was finished from exactly these pins, is complete, and
# has the version asked for. A changed pin file starts a new install. Every file that
# pip recorded must be there: the command imports lazily, so that it answers --version
# even when half of what it needs is gone.
usable() {
	[[ -x $bin ]] && cmp -s "$pins" "$mark" || return 1
	"$dir/bin/python" - 2>/dev/null <<-'PY' || return 1
		import importlib.metadata as metadata
		import sys
		missing = [
		    file
		    for dist in metadata.distributions()
		    for file in dist.files or []
		    if file.suffix != ".pyc" and not file.locate().exists()
		]
		sys.exit(1 if missing else 0)
	PY
	[[ "$("$bin" --version 2>/dev/null)" == *"$version"* ]]
}

install() {
	echo "installing schemathesis $version (once)" >&2
	rm -rf "$dir"
	python3 -m venv "$dir" >&2
	"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$pins" >&2
	"$dir/bin/python" -m pip check >&2
	# Last, so that an interrupted install is never taken for a finished one.
	cp "$pins" "$mark"
}

once "$root/.schemathesis.lock" usable install
echo "$bin"
