# shellcheck shell=bash
# To be sourced by a script that installs one Go program, pinned by version, outside the tree.

# shellcheck source=scripts/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/once.sh"

# tool_dir NAME VERSION prints the directory of a tool.
tool_dir() { echo "$("$(dirname "${BASH_SOURCE[0]}")/tools-dir.sh")/$1-$2"; }

# show_progress WHAT LOG prints how far a build is, every ten seconds, until it is killed.
show_progress() {
	local start=$SECONDS
	while sleep 10; do
		echo "$1: $((SECONDS - start)) s, $(grep -cv '^go: ' "$2") packages compiled" >&2
	done
}

# built_from FILE MODULE VERSION succeeds when a program is there and was built from that version of a module.
built_from() { [[ -x $1 && $(go version -m "$1" 2>/dev/null) == *"$2"*"$3"* ]]; }

# install_tool DIR NAME VERSION ARGUMENT... builds DIR/NAME by "go install ARGUMENT...",
# unless it is there, and prints its path. The caller defines usable, which succeeds when
# the program in DIR runs and has this version.
install_tool() {
	local dir=$1 name=$2 version=$3
	tool_arguments=("${@:4}")
	once "$dir/.lock" usable build_tool
	echo "$dir/$name"
}

# build_tool builds the program of install_tool.
build_tool() {
	echo "$name $version: building it from source, once; this takes some minutes" >&2
	rm -rf "$dir"/build.*
	build=$(mktemp -d "$dir/build.XXXXXX")
	: >"$build/log"
	show_progress "$name $version" "$build/log" 9>&- &
	progress=$!
	trap 'kill "$progress" 2>/dev/null || :; rm -rf "$build"' EXIT
	# GOFLAGS of the project (-mod, -race) must not leak into the tool's build. -v lists the
	# packages as they are compiled.
	if ! GOBIN=$build GOFLAGS=-buildvcs=false go install -v "${tool_arguments[@]}" >"$build/log" 2>&1; then
		cat "$build/log" >&2
		echo "$name $version could not be built" >&2
		exit 1
	fi
	kill "$progress" 2>/dev/null || :
	mv -f "$build/$name" "$dir/$name"
	echo "$name $version: built" >&2
}
