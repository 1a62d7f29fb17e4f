# shellcheck shell=bash
# To be sourced by a script that installs something outside the tree, once. Several processes may run it
# at once, and a half-done install is repaired.

# once LOCK USABLE INSTALL calls the function INSTALL, unless USABLE succeeds. LOCK is a file, which one
# process at a time holds. Afterwards USABLE must succeed.
once() {
	! "$2" || return 0
	mkdir -p "$(dirname "$1")"
	exec 9>"$1"
	flock -n 9 || { echo "${0##*/}: waiting for another process" >&2; flock 9; }
	if ! "$2"; then
		"$3"
		"$2" || { echo "${0##*/}: what was installed does not work" >&2; exit 1; }
	fi
	exec 9>&-
}
