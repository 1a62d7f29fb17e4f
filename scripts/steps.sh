# shellcheck shell=bash
# To be sourced by scripts that run steps and print how long each took.

began=$SECONDS
summary=()

# step NAME COMMAND... runs a command, and ends the script when it fails.
step() {
	local name=$1 start=$SECONDS
	shift
	printf '\n=== %s: %s\n' "$name" "$*"
	if ! "$@"; then
		printf '\n=== %s FAILED after %d s\n' "$name" $((SECONDS - start)) >&2
		exit 1
	fi
	summary+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
}

# print_summary prints the time of each step and of all.
print_summary() {
	printf '\n=== all passed\n'
	printf '%s\n' "${summary[@]}"
	printf '%6d s  in all\n' $((SECONDS - began))
}
