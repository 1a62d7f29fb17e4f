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

dir=$(scripts/tools-dir.sh)/promtool-1 # counted up when what is installed changes

say() { echo "promtool: $*" >&2; }

# usable PROGRAM succeeds when it runs: 2.40 knows all that the rules and their tests use.
usable() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n '1s/.*version \([0-9.]*\).*/\1/p') && [[ -n $version ]] &&
		[[ $(printf '%s\n' 2.40.0 "$version" | sort -V | head -n 1) == 2.40.0 ]]
}

install() {
	local debs
	say "fetching the package prometheus (once)"
	apt_begin "$work" && (mkdir "$work/deb" && cd "$work/deb" && apt_in "$work" apt-get download prometheus >&2) || return 1
	debs=("$work"/deb/prometheus_*.deb)
	dpkg-deb -x "${debs[0]}" "$work/root" && usable "$work/root/usr/bin/promtool" || return 1
	mv "$work/root/usr/bin/promtool" "$dir/promtool"
}

found=$(command -v promtool || true)
if [[ -z $found ]] || ! usable "$found"; then
	found=$dir/promtool
	if ! usable "$found"; then
		mkdir -p "$dir"
		exec 9>"$dir/.lock"
		flock 9
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
		if ! usable "$found" && ! install; then
			say "promtool 2.40 or newer was not found and could not be fetched; install Prometheus, which has it"
			exit 1
		fi
	fi
fi
echo "$found"
