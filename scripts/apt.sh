# shellcheck shell=bash
# Sourced by scripts that take packages of the distribution. They are fetched with the system's
# configuration, into folders of ours only: nothing is installed and no root is needed.

# apt_in FOLDER COMMAND... runs an apt command whose lists and cache are in FOLDER.
apt_in() {
	local folder=$1 command=$2
	shift 2
	"$command" -qq -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# apt_begin FOLDER makes FOLDER ready and fetches the lists; it fails where there is no apt.
apt_begin() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	mkdir -p "$1"/lists/partial "$1"/cache/archives/partial
	apt_in "$1" apt-get update >&2
}
