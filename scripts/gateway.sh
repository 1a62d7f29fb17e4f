#!/usr/bin/env bash
# To be sourced: start_gateway runs a gateway of its own for a script, on a free port
# and an empty data directory, and stop_gateway ends it. GATEWAY names a binary to use
# instead of building one.
#
# $serve_args, an array, is handed to "gateway serve". end_gateway stops the gateway and
# leaves what it wrote; stop_gateway removes that too.
#
# After start_gateway: $url, $key (the tenant's first key, all scopes), $data, $log.

serve_args=()

# free_port prints a port of the loopback interface that nobody listens on. It is below those that systems give to clients, so that no
# connection has it before the gateway has.
free_port() {
	python3 -c '
import random, socket
while True:
    port = random.randrange(20000, 30000)
    with socket.socket() as s:
        if s.connect_ex(("127.0.0.1", port)):
            print(port)
            break'
}

# alive succeeds when the gateway runs and answers.
alive() {
	kill -0 "$gateway_pid" 2>/dev/null && curl -fsS --max-time 60 -o /dev/null "$url/readyz"
}

start_gateway() {
	work=$(mktemp -d)
	data=$work/data
	log=$work/gateway.log
	gateway=${GATEWAY:-$work/gateway}
	trap stop_gateway EXIT
	if [[ -z ${GATEWAY:-} ]]; then
		go build -o "$gateway" ./cmd/gateway
	fi

	# Nothing here is asked through a proxy.
	export no_proxy="127.0.0.1,${no_proxy:-${NO_PROXY:-}}"
	export NO_PROXY=$no_proxy

	url=http://127.0.0.1:$(free_port)
	SLIPBOX_DATA=$data "$gateway" serve --addr "${url#http://}" "${serve_args[@]}" >"$work/stdout" 2>"$log" &
	gateway_pid=$!

	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		if curl -fsS --max-time 5 -o /dev/null "$url/readyz" 2>/dev/null; then
			break
		fi
		kill -0 "$gateway_pid" 2>/dev/null || break
		sleep 0.1
	done
	if ! alive; then
		echo "the gateway did not become ready; its log ends:" >&2
		tail -n 30 "$log" >&2
		return 1
	fi
	# The key is printed before /readyz answers 200.
	key=$(grep -o 'sb_[A-Za-z0-9_-]*' "$work/stdout" | head -n 1 || true)
	if [[ -z $key ]]; then
		echo "the gateway printed no key on its first start" >&2
		return 1
	fi
	export url key data log gateway
}

# end_gateway asks the gateway to stop, and kills it when it does not within 2 minutes. It
# returns the exit code of the gateway.
end_gateway() {
	local code=0 tries
	if [[ -n ${gateway_pid:-} ]]; then
		kill -TERM "$gateway_pid" 2>/dev/null || true
		for ((tries = 0; tries < 1200; tries++)); do
			kill -0 "$gateway_pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$gateway_pid" 2>/dev/null && echo "the gateway did not stop within 2 minutes" >&2
		wait "$gateway_pid" || code=$?
		gateway_pid=
	fi
	return "$code"
}

# stop_gateway ends the gateway and removes what it wrote. It returns the exit code of
# the gateway.
stop_gateway() {
	trap - EXIT
	local code=0
	end_gateway || code=$?
	rm -rf "${work:?}"
	return "$code"
}
