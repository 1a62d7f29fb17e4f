# shellcheck shell=bash
# To be sourced by a script that installs one Go program, pinned by version, outside
# the tree. Several processes may install at once; a half-done install is repaired.

# tool_dir NAME VERSION gives the directory of a tool.
tool_dir() { echo "$("$(dirname "${BASH_SOURCE[0]}")/tools-dir.sh")/$1-$2"; }

# install_tool DIR NAME VERSION ARGUMENT... builds DIR/NAME by "go install ARGUMENT...",
# unless it is there, and prints its path. The caller defines usable, which says whether
# what is there runs and has the version asked for.
install_tool() {
	local dir=$1 name=$2 version=$3
	shift 3
	if ! usable; then
		mkdir -p "$dir"
		exec 9>"$dir/.lock"
		flock 9
		if ! usable; then
			echo "building $name $version (once, some minutes)" >&2
			rm -rf "$dir"/build.*
			build=$(mktemp -d "$dir/build.XXXXXX")
			trap 'rm -rf "$build"' EXIT
			# GOFLAGS of the project (-mod, -race) must not leak into the tool's build.
			GOBIN=$build GOFLAGS=-buildvcs=false go install "$@" >&2
			mv -f "$build/$name" "$dir/$name"
			usable || { echo "$name $version was built, but does not answer as $version" >&2; exit 1; }
		fi
	fi
	echo "$dir/$name"
}
