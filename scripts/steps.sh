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

# What runs beside the steps, by its place: name, start, process and the file of its output.
beside_names=() beside_starts=() beside_pids=() beside_outputs=()

# beside NAME COMMAND... starts a program that runs beside the next steps. await_beside must follow.
beside() {
	local name=$1 output
	shift
	printf '\n=== %s, beside what follows: %s\n' "$name" "$*"
	output=$(mktemp)
	# A session of its own, so that end_beside ends all that it started.
	setsid "$@" >"$output" 2>&1 &
	beside_names+=("$name") beside_starts+=("$SECONDS") beside_pids+=("$!") beside_outputs+=("$output")
}

# await_beside waits for all that beside started, prints what it said, and ends the script when some failed.
await_beside() {
	local i failed=()
	for i in "${!beside_pids[@]}"; do
		printf '\n=== %s\n' "${beside_names[i]}"
		if ! wait "${beside_pids[i]}"; then
			failed+=("${beside_names[i]}")
		fi
		cat "${beside_outputs[i]}"
		rm -f "${beside_outputs[i]}"
		summary+=("$(printf '%6d s  %s (until it was awaited, beside others)' $((SECONDS - beside_starts[i])) "${beside_names[i]}")")
		unset "beside_pids[i]"
	done
	beside_names=() beside_starts=() beside_pids=() beside_outputs=()
	if ((${#failed[@]})); then
		printf '\n=== %s FAILED\n' "${failed[@]}" >&2
		exit 1
	fi
}

# passed is the last commit that passed whole, of any working tree; empty when none is known here.
passed='' passed_note=$(scripts/tools-dir.sh)/passed
at=$(git rev-parse --verify --quiet HEAD || true)

# find_passed reads it.
find_passed() {
	local noted
	[[ ${SECTIONS:-} != all && -r $passed_note ]] || return 0
	noted=$(<"$passed_note")
	! git cat-file -e "$noted^{commit}" 2>/dev/null || passed=$noted
}

# note_passed notes the commit that passed, unless the tree has something else, or has changed meanwhile.
note_passed() {
	[[ -n $at && $at == $(git rev-parse HEAD) && -z $(git status --porcelain) ]] || return 0
	mkdir -p "$(dirname "$passed_note")"
	echo "$at" >"$passed_note"
}

# section NAME PATH... -- COMMAND... is beside, if a file below one of the paths differs from what passed last.
section() {
	local name=$1 paths=()
	shift
	while [[ $1 != -- ]]; do
		paths+=("$1")
		shift
	done
	shift
	if [[ -n $passed ]] && git diff --quiet "$passed" -- "${paths[@]}" &&
		[[ -z $(git ls-files --others --exclude-standard -- "${paths[@]}") ]]; then
		printf '\n=== %s: not run, as since %.12s nothing changed in %s\n' "$name" "$passed" "${paths[*]}"
		return
	fi
	beside "$name" "$@"
}

# end_beside ends what beside started, if it still runs. For an EXIT trap.
end_beside() {
	local i
	for i in "${!beside_pids[@]}"; do
		kill -TERM -- "-${beside_pids[i]}" 2>/dev/null || true
		rm -f "${beside_outputs[i]}"
	done
}

# print_summary prints the time of each step and of all.
print_summary() {
	printf '\n=== all passed\n'
	printf '%s\n' "${summary[@]}"
	printf '%6d s  in all\n' $((SECONDS - began))
}
