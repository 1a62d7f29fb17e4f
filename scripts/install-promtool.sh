#!/usr/bin/env bash
# Prints the path of promtool, which checks metrics and tests alerting rules. It comes from, in this
# order: this machine; an earlier run; the distribution's package prometheus, of which only promtool is
# kept. Nothing is installed into the system and no root is needed.
# Usage: install-promtool.sh
#
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/apt.sh
. scripts/apt.sh
# shellcheck source=scripts/once.sh
. scripts/once.sh

dir=$(scripts/tools-dir.sh)/promtool-1 # counted up when what is installed changes

say() { echo "promtool: $*" >&2; }

# usable PROGRAM succeeds when it runs: 2.40 knows all that the rules and their tests use.
usable() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n '1s/.*version \([0-9.]*\).*/\1/p') && [[ -n $version ]] &&
		[[ $(printf '%s\n' 2.40.0 "$version" | sort -V | head -n 1) == 2.40.0 ]]
}

install() {
	local work
	say "fetching the package prometheus (once)"
	work=$(mktemp -d)
	fetch "$work" || say "promtool 2.40 or newer was not found and could not be fetched; install Prometheus, which has it"
	rm -rf "$work"
}

# fetch FOLDER takes promtool from the distribution's package, by way of the folder.
fetch() {
	local debs
	apt_begin "$1" && (mkdir "$1/deb" && cd "$1/deb" && apt_in "$1" apt-get download prometheus >&2) || return 1
	debs=("$1"/deb/prometheus_*.deb)
	dpkg-deb -x "${debs[0]}" "$1/root" && usable "$1/root/usr/bin/promtool" || return 1
	mv "$1/root/usr/bin/promtool" "$dir/promtool"
}

fetched() { usable "$dir/promtool"; }

found=$(command -v promtool || true)
if [[ -z $found ]] || ! usable "$found"; then
	once "$dir/.lock" fetched install
	found=$dir/promtool
fi
echo "$found"
