#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of the console. Where there is none, it is installed by
# the system's package manager, as root or with sudo.
set -euo pipefail

find_browser() {
	local name
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		command -v "$name" && return
	done
	return 1
}

find_browser && exit 0
command -v apt-get >/dev/null || { echo "no Chromium was found, and there is no apt-get to install it with" >&2; exit 1; }
root=()
[[ $(id -u) == 0 ]] || root=(sudo)
echo "installing Chromium (once)" >&2
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get -qq update >&2
"${root[@]}" apt-get -qq install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 chromium >&2
find_browser
