#!/usr/bin/env bash
# Runs a Postgres with pgvector and a Redis for development and tests, installing both
# when needed (scripts/services-install.sh). What is in them is throwaway. With the name
# pgbouncer it also runs that pooler, in transaction mode, before this Postgres.
#
# Usage: services.sh COMMAND
#   up [postgres|redis|pgbouncer]   start what does not run, repair what is broken, wait for
#                           it; without a name Postgres and Redis
#   up replica              start a standby of this Postgres, which needs SLIPBOX_PG_REPLICA_PORT at each "up"
#   down [postgres|redis|pgbouncer|replica] stop it; without a name everything
#   kill-postgres           kill -9, for tests of faults; "up" brings it back
#   kill-redis              likewise
#   restart-postgres        stop at once, and start
#   env                     print the URLs as shell exports
#   status                  say what runs; fails when something does not
#   bindir                  print the folder of postgres, psql, redis-cli and so on
#
# Settings: SLIPBOX_SERVICES_DIR (default slipbox-services-UID, in memory when there is room and
# below /var/tmp otherwise), SLIPBOX_PG_PORT (55432), SLIPBOX_REDIS_PORT (56379),
# SLIPBOX_PGBOUNCER_PORT (56432); with all of them changed it is an instance beside the shared one. SLIPBOX_PG_FSYNC=on makes Postgres survive a crash of the machine (default
# off); the environment of the latest "up" counts. SLIPBOX_TOOLS as for the other tools.
#
# A DATABASE_URL or REDIS_URL that names another server is used instead: nothing is
# started in its place, it must only be reachable. PGBOUNCER_URL may name a pooler before it.
set -euo pipefail

pg_port=${SLIPBOX_PG_PORT:-55432}
redis_port=${SLIPBOX_REDIS_PORT:-56379}
replica_port=${SLIPBOX_PG_REPLICA_PORT:-}
pgbouncer_port=${SLIPBOX_PGBOUNCER_PORT:-56432}
fsync=${SLIPBOX_PG_FSYNC:-off}
password=dev-only # prevents mistakes only: every user of this machine can read it
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# default_dir prints the folder of the shared instance. One that runs on the disk, or was killed there, stays;
# what must survive a crash belongs there.
default_dir() {
	local disk=/var/tmp/slipbox-services-$UID shared=/dev/shm/slipbox-services-$UID file
	for file in postgres/postmaster.pid redis/pid pgbouncer/pid; do
		[[ ! -e $disk/$file ]] || shared=$disk
	done
	[[ -d $shared && $fsync == off ]] || [[ $fsync == off && -n $("$here/memory-dir.sh") ]] || shared=$disk
	echo "$shared"
}

dir=${SLIPBOX_SERVICES_DIR:-$(default_dir)}
[[ $dir == /* ]] || dir=$PWD/$dir
data=$dir/postgres
sockets=$dir/sockets
redis=$dir/redis
pgbouncer=$dir/pgbouncer
replica=$dir/replica
bin=
tools=

fail() {
	echo "services: $*" >&2
	exit 1
}

[[ $fsync == on || $fsync == off ]] || fail "SLIPBOX_PG_FSYNC is on or off, not $fsync"
((${#sockets} < 85)) || fail "the path $dir is too long for a socket; set SLIPBOX_SERVICES_DIR to a shorter one"

# Postgres refuses to run as root.
user=()
if ((UID == 0)); then
	name=postgres
	id "$name" >/dev/null 2>&1 || name=nobody
	user=(setpriv "--reuid=$name" "--regid=$(id -g "$name")" --clear-groups)
fi

# as_user COMMAND... runs it as the user of the servers, from a folder that it can reach,
# without what the caller's environment says about Postgres, and without the lock.
as_user() { (cd / && exec env -i "PATH=$PATH" LC_ALL=C "REDISCLI_AUTH=$password" "${user[@]}" "$@" 9>&-); }

# prepare makes the folders, takes the lock, and installs what is missing.
prepare() {
	mkdir -p "$dir"
	# Anybody could have made it.
	[[ -O $dir && ! -L $dir ]] || fail "$dir belongs to somebody else; set SLIPBOX_SERVICES_DIR to a folder of your own"
	chmod 755 "$dir"
	exec 9>"$dir/.lock"
	flock 9
	as_user test -x "$dir" || fail "the user $name cannot reach $dir; set SLIPBOX_SERVICES_DIR to a folder below /var/tmp"
	find_commands
	local part
	for part in "$sockets" "$redis" "$pgbouncer"; do
		mkdir -p "$part"
		chmod 700 "$part"
		((UID != 0)) || chown -R "$name:" "$part"
	done
}

# find_commands sets $bin and $tools. The tools' folder is of no use when it lies in a home that the
# servers' user cannot enter.
find_commands() {
	tools=$("$here/tools-dir.sh")
	mkdir -p "$tools"
	if ! as_user test -x "$tools"; then
		tools=/var/tmp/slipbox-tools-$UID
		mkdir -p "$tools"
		[[ -O $tools && ! -L $tools ]] || fail "$tools belongs to somebody else; set SLIPBOX_TOOLS to a folder of your own"
		chmod 755 "$tools"
	fi
	bin=$("$here/services-install.sh" "$tools")
}

# runs PIDFILE FOLDER prints the process id when that process lives and is a server of
# this folder: ids are used again, and files stay behind.
runs() {
	local pid line
	pid=$(head -n 1 "$1" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] || return 1
	line=$({ tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } 2>/dev/null) || return 1
	[[ $line == *" $2 "* || $line == *" $2" ]] && echo "$pid"
}
postgres_runs() { runs "$data/postmaster.pid" "$data"; }
redis_runs() { runs "$redis/pid" "$redis"; }
replica_runs() { runs "$replica/postmaster.pid" "$replica"; }
pgbouncer_runs() { runs "$pgbouncer/pid" "$pgbouncer/pgbouncer.ini"; }

# reachable HOST PORT succeeds when a server listens there.
# shellcheck disable=SC2016 # the inner shell's arguments
reachable() { timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null; }

# until_true SECONDS COMMAND... tries until it succeeds.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# free PORT VARIABLE fails when somebody else has the port. A server that was killed a
# moment ago is given the time to go.
port_closed() { ! reachable 127.0.0.1 "$1"; }
free() {
	until_true 2 port_closed "$1" ||
		fail "port $1 is taken by another program; stop that, or set $2 to a free port"
}

# same_port RUNNING WANTED NAME
same_port() {
	[[ $1 == "$2" ]] || fail "$3 in $dir runs on port $1, not $2; run \"services.sh down\" first, or set SLIPBOX_SERVICES_DIR to another folder"
}

sql() { as_user "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$sockets" -p "$pg_port" -U postgres "$@" >/dev/null; }

# whole succeeds when this server can start from the data folder.
whole() {
	[[ -f $data/global/pg_control && -d $data/pg_wal && -f $data/postgresql.conf &&
		"$("$bin/postgres" --version)" == *" $(cat "$data/PG_VERSION" 2>/dev/null)."* ]]
}

make_data() {
	if [[ -e $data ]]; then
		echo "services: $data cannot be used; it is set aside as $data.broken, and made anew" >&2
		rm -rf "$data.broken"
		mv "$data" "$data.broken"
	fi
	rm -rf "$data.new"
	mkdir "$data.new"
	chmod 700 "$data.new"
	((UID != 0)) || chown "$name:" "$data.new"
	local locale=C.UTF-8
	[[ $(uname) != Darwin ]] || locale=en_US.UTF-8
	as_user "$bin/initdb" -D "$data.new" -U postgres -E UTF8 --locale="$locale" --auth=reject --no-sync \
		>"$dir/initdb.log" 2>&1 || fail "initdb failed: $(tail -n 5 "$dir/initdb.log")"
	echo "include 'slipbox.conf'" >>"$data.new/postgresql.conf"
	mv "$data.new" "$data"
}

# settings writes the settings of this script, each time. They override those of initdb,
# which fit the machine (kind of shared memory, locale).
settings() {
	local wal=minimal senders=0
	[[ -z $replica_port ]] || wal=replica senders=4
	cat >"$data/slipbox.conf" <<-END
		listen_addresses = '127.0.0.1'
		port = $pg_port
		unix_socket_directories = '$sockets'
		max_connections = 300
		shared_buffers = 256MB
		fsync = $fsync
		full_page_writes = $fsync
		synchronous_commit = $fsync
		wal_level = $wal
		max_wal_senders = $senders
		max_wal_size = 256MB
		jit = off
		timezone = 'UTC'
		log_timezone = 'UTC'
		password_encryption = 'scram-sha-256'
	END
	# The superuser comes in by the socket alone, whose folder nobody else can enter.
	cat >"$data/pg_hba.conf" <<-END
		local all postgres trust
		local replication postgres trust
		local all slipbox_owner,slipbox_app scram-sha-256
		host all slipbox_owner,slipbox_app 127.0.0.1/32 scram-sha-256
	END
	rm -f "$data/postgresql.auto.conf"
	as_user touch "$data/postgresql.auto.conf"
	((UID != 0)) || chown "$name:" "$data"/{slipbox,pg_hba}.conf
}

start() {
	rm -f "$data/postmaster.pid" "$sockets"/.s.PGSQL.*
	as_user "$bin/pg_ctl" start -w -t 60 -s -D "$data" -l "$data/server.log" >/dev/null 2>&1
}

# start_postgres tries again for a while: processes of a server that was killed hold its
# memory until they notice.
start_postgres() {
	free "$pg_port" SLIPBOX_PG_PORT
	whole || make_data
	settings
	until_true 5 start || remake
}

# remake begins with new data: without fsync a crash of the machine may have left anything.
remake() {
	tail -n 10 "$data/server.log" >&2 || true
	[[ $fsync == off ]] || fail "the data in $data is damaged; look at it, then remove it"
	make_data
	settings
	start || fail "Postgres does not start; its log ends: $(tail -n 10 "$data/server.log")"
}

# roles repairs the roles and the database. It runs each time, for tests may change them.
roles() {
	sql -d postgres <<-END
		SET client_min_messages = warning;
		SELECT 'CREATE ROLE ' || r FROM unnest(ARRAY['slipbox_owner', 'slipbox_app']) r
			WHERE r NOT IN (SELECT rolname FROM pg_roles) \gexec
		ALTER ROLE slipbox_owner LOGIN NOSUPERUSER CREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
			CONNECTION LIMIT -1 VALID UNTIL 'infinity' PASSWORD '$password';
		ALTER ROLE slipbox_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
			CONNECTION LIMIT -1 VALID UNTIL 'infinity' PASSWORD '$password';
		ALTER ROLE slipbox_owner RESET ALL;
		ALTER ROLE slipbox_app RESET ALL;
		SELECT format('REVOKE %I FROM slipbox_app', r.rolname) FROM pg_auth_members m
			JOIN pg_roles r ON r.oid = m.roleid WHERE m.member = 'slipbox_app'::regrole \gexec
		-- DROP DATABASE ... WITH (FORCE) must be able to end the other role's sessions.
		GRANT pg_signal_backend TO slipbox_owner;
		SELECT 'CREATE DATABASE slipbox OWNER slipbox_owner'
			WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'slipbox') \gexec
		ALTER DATABASE slipbox OWNER TO slipbox_owner;
		ALTER DATABASE slipbox ALLOW_CONNECTIONS true;
		ALTER DATABASE slipbox RESET ALL;
		REVOKE CREATE ON DATABASE slipbox FROM slipbox_app;
	END
	sql -d slipbox <<-END
		SET client_min_messages = warning;
		REASSIGN OWNED BY slipbox_app TO slipbox_owner;
		CREATE SCHEMA IF NOT EXISTS public;
		ALTER SCHEMA public OWNER TO pg_database_owner;
		REVOKE CREATE ON SCHEMA public FROM slipbox_app;
		-- As its owner, which shows that owners may.
		SET ROLE slipbox_owner;
		CREATE EXTENSION IF NOT EXISTS vector;
		RESET ROLE;
		ALTER EXTENSION vector UPDATE;
	END
}

up_postgres() {
	if postgres_runs >/dev/null; then
		same_port "$(sed -n 4p "$data/postmaster.pid")" "$pg_port" Postgres
		settings
		as_user "$bin/pg_ctl" reload -s -D "$data"
	else
		start_postgres
	fi
	until_true 60 as_user "$bin/pg_isready" -q -h "$sockets" -p "$pg_port" || fail "Postgres did not become ready within 60 s; see $data/server.log"
	if ! until_true 5 sql -d postgres -c 'SELECT 1' 2>/dev/null; then
		down_postgres
		remake
	fi
	roles || fail "the roles or the database could not be set up; see $data/server.log"
}

redis_cli() { as_user timeout 5 "$bin/redis-cli" -p "$redis_port" "$@" 2>/dev/null; }
redis_ready() { [[ $(redis_cli ping) == PONG ]]; }

up_redis() {
	if redis_runs >/dev/null; then
		same_port "$(cat "$redis/port")" "$redis_port" Redis
	else
		free "$redis_port" SLIPBOX_REDIS_PORT
		rm -f "$redis/pid"
		echo "$redis_port" >"$redis/port"
		as_user "$bin/redis-server" --port "$redis_port" --bind 127.0.0.1 --daemonize yes --set-proc-title no \
			--dir "$redis" --pidfile "$redis/pid" --logfile "$redis/log" --requirepass "$password" \
			--save '' --appendonly no --maxmemory-policy noeviction >/dev/null
	fi
	until_true 30 redis_ready || fail "Redis did not become ready within 30 s; see $redis/log"
}

# up_pgbouncer starts the pooler: clients share few connections, another one for each
# transaction, and no statement outlives its transaction.
up_pgbouncer() {
	local command
	pgbouncer_runs >/dev/null && return
	command=$("$here/services-install.sh" "$tools" pgbouncer)
	free "$pgbouncer_port" SLIPBOX_PGBOUNCER_PORT
	rm -f "$pgbouncer/pid"
	cat >"$pgbouncer/pgbouncer.ini" <<-END
		[databases]
		* = host=127.0.0.1 port=$pg_port
		[pgbouncer]
		listen_addr = 127.0.0.1
		listen_port = $pgbouncer_port
		unix_socket_dir =
		auth_type = scram-sha-256
		auth_file = $pgbouncer/users
		pool_mode = transaction
		default_pool_size = 8
		max_client_conn = 1000
		logfile = $pgbouncer/log
		pidfile = $pgbouncer/pid
	END
	# Newer versions keep prepared statements for their clients; this is the pooler that does not.
	if at_least 1.21 "$("$command" --version | sed -n 's/^PgBouncer //p')"; then
		echo "max_prepared_statements = 0" >>"$pgbouncer/pgbouncer.ini"
	fi
	printf '"%s" "%s"\n' slipbox_owner "$password" slipbox_app "$password" >"$pgbouncer/users"
	((UID != 0)) || chown "$name:" "$pgbouncer"/{pgbouncer.ini,users}
	as_user "$command" -q -d "$pgbouncer/pgbouncer.ini" || fail "PgBouncer does not start; see $pgbouncer/log"
	until_true 30 reachable 127.0.0.1 "$pgbouncer_port" || fail "PgBouncer did not become ready within 30 s; see $pgbouncer/log"
}

# up_replica copies the server and starts the copy as its standby.
up_replica() {
	replica_runs >/dev/null && return
	[[ -n $replica_port ]] || fail "set SLIPBOX_PG_REPLICA_PORT before Postgres starts, and for its standby"
	free "$replica_port" SLIPBOX_PG_REPLICA_PORT
	rm -rf "$replica"
	mkdir -m 700 "$replica"
	((UID != 0)) || chown "$name:" "$replica"
	sql -d postgres -At <<-END || fail "the copy of $data failed"
		SELECT pg_backup_start('standby', true);
		\! cp -R "$data/." "$replica/"
		\o $replica/backup_label
		SELECT labelfile FROM pg_backup_stop();
	END
	rm -f "$replica/postmaster.pid"
	as_user touch "$replica/standby.signal"
	echo "primary_conninfo = 'host=$sockets port=$pg_port user=postgres'" >>"$replica/postgresql.auto.conf"
	as_user "$bin/pg_ctl" start -w -t 60 -s -D "$replica" -l "$replica/server.log" -o "-c port=$replica_port" >/dev/null 2>&1 ||
		fail "the standby does not start; its log ends: $(tail -n 10 "$replica/server.log")"
}

# at_least MINIMUM VERSION compares versions.
at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

gone() { ! "${1}_runs" >/dev/null; }

down_postgres() {
	gone postgres && return
	as_user "$bin/pg_ctl" stop -s -w -t 30 -m fast -D "$data" 2>/dev/null ||
		as_user "$bin/pg_ctl" stop -s -w -m immediate -D "$data"
}

down_replica() {
	gone replica || as_user "$bin/pg_ctl" stop -s -w -m immediate -D "$replica"
}

down_redis() {
	local pid
	pid=$(redis_runs) || return 0
	kill "$pid"
	until_true 10 gone redis || kill -9 "$pid"
}

down_pgbouncer() {
	local pid
	pid=$(pgbouncer_runs) || return 0
	kill "$pid"
	until_true 10 gone pgbouncer || kill -9 "$pid"
}

# kill_hard NAME kills without a word, and waits until it is gone.
kill_hard() {
	local pid
	pid=$("${1}_runs") || fail "$1 does not run in $dir"
	kill -9 "$pid"
	until_true 10 gone "$1" || fail "$1 did not die"
}

url_of() { echo "postgres://$1:$password@127.0.0.1:$pg_port/slipbox?sslmode=disable"; }

# given VARIABLE succeeds when it names a server that is not one of ours. What an earlier
# "env" printed is ours.
given() { [[ -n ${!1:-} && ${!1} != *":$password@127.0.0.1:"* ]]; }

# check_given VARIABLE DEFAULT-PORT fails when nobody listens where the URL says.
check_given() {
	local at=${!1#*://}
	at=${at%%[/?]*}
	at=${at##*@}
	at=${at%%,*}
	local host=${at%:*} port=${at##*:}
	[[ $at =~ :[0-9]+$ ]] || host=$at port=$2
	host=${host#[} host=${host%]}
	# Without a host it is a socket, which only a client can try.
	[[ -z $host ]] || reachable "$host" "$port" ||
		fail "$1 is set, and nobody answers at $host:$port; start that server, or unset $1 to have one started here"
}

environment() {
	local database owner cache
	database=$(url_of slipbox_app) owner=$(url_of slipbox_owner) cache=redis://default:$password@127.0.0.1:$redis_port/0
	if given DATABASE_URL; then
		database=$DATABASE_URL owner=${MIGRATE_DATABASE_URL:-$DATABASE_URL}
	fi
	! given REDIS_URL || cache=$REDIS_URL
	printf 'export %s=%s\n' DATABASE_URL "${database@Q}" MIGRATE_DATABASE_URL "${owner@Q}" REDIS_URL "${cache@Q}"
	if given PGBOUNCER_URL; then
		printf 'export PGBOUNCER_URL=%s\n' "${PGBOUNCER_URL@Q}"
	elif given DATABASE_URL; then
		echo 'export PGBOUNCER_URL=none'
	elif pgbouncer_runs >/dev/null; then
		database="postgres://slipbox_app:$password@127.0.0.1:$pgbouncer_port/slipbox?sslmode=disable"
		printf 'export PGBOUNCER_URL=%s\n' "${database@Q}"
	fi
}

up() {
	local part wanted=()
	for part in "$@"; do
		case $part in
		replica) wanted+=("$part") ;;
		postgres) if given DATABASE_URL; then check_given DATABASE_URL 5432; else wanted+=("$part"); fi ;;
		redis) if given REDIS_URL; then check_given REDIS_URL 6379; else wanted+=("$part"); fi ;;
		pgbouncer) given DATABASE_URL || given PGBOUNCER_URL || wanted+=("$part") ;;
		*) fail "there is no service $part, only postgres, redis, pgbouncer and replica" ;;
		esac
	done
	[[ ${#wanted[@]} -gt 0 ]] || return 0
	prepare
	for part in "${wanted[@]}"; do
		"up_$part"
	done
}

down() {
	postgres_runs >/dev/null || redis_runs >/dev/null || pgbouncer_runs >/dev/null || replica_runs >/dev/null || return 0
	prepare
	local part
	for part in "$@"; do
		[[ $part == postgres || $part == redis || $part == pgbouncer || $part == replica ]] || fail "there is no service $part, only postgres, redis, pgbouncer and replica"
		"down_$part"
	done
}

status() {
	local part pid code=0
	for part in postgres redis; do
		if pid=$("${part}_runs"); then
			echo "$part: runs in $dir, process $pid"
		else
			echo "$part: does not run in $dir"
			code=1
		fi
	done
	return "$code"
}

command=${1:-}
[[ $# -eq 0 ]] || shift
if (($# == 0)); then
	set -- postgres redis
	[[ $command != down ]] || set -- replica pgbouncer postgres redis
fi
case $command in
up) up "$@" ;;
down) down "$@" ;;
kill-postgres) kill_hard postgres ;;
kill-redis) kill_hard redis ;;
restart-postgres)
	prepare
	down_postgres
	up_postgres
	;;
env) environment ;;
status) status ;;
bindir)
	find_commands
	echo "$bin"
	;;
*) fail "usage: services.sh up|down|kill-postgres|kill-redis|restart-postgres|env|status|bindir" ;;
esac
