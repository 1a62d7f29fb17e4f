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

# beside NAME COMMAND... starts a program that runs beside the next steps, in the time that they leave it.
# await_beside must follow.
beside() {
	beside_name=$1 beside_start=$SECONDS
	shift
	printf '\n=== %s, beside what follows: %s\n' "$beside_name" "$*"
	beside_output=$(mktemp)
	# A session of its own, so that end_beside ends all that it started.
	setsid nice -n 10 "$@" >"$beside_output" 2>&1 &
	beside_pid=$!
}

# await_beside waits for what beside started, prints what it said, and ends the script when it failed.
await_beside() {
	local pid=$beside_pid
	printf '\n=== %s\n' "$beside_name"
	if ! wait "$pid"; then
		cat "$beside_output" >&2
		printf '\n=== %s FAILED\n' "$beside_name" >&2
		exit 1
	fi
	beside_pid=
	cat "$beside_output"
	rm -f "$beside_output"
	summary+=("$(printf '%6d s  %s (beside others)' $((SECONDS - beside_start)) "$beside_name")")
}

# end_beside ends what beside started, if it still runs. For an EXIT trap.
end_beside() {
	if [[ -n ${beside_pid:-} ]]; then
		kill -TERM -- "-$beside_pid" 2>/dev/null || true
		rm -f "$beside_output"
	fi
}

# print_summary prints the time of each step and of all.
print_summary() {
	printf '\n=== all passed\n'
	printf '%s\n' "${summary[@]}"
	printf '%6d s  in all\n' $((SECONDS - began))
}
