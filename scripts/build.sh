#!/usr/bin/env bash
# build.sh LDFLAGS PACKAGE... builds commands into bin/ and shows how far it is: a first build
# compiles several hundred packages, which takes minutes. Flags of the build come from GOFLAGS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ldflags=$1
shift

# The compiler collects its garbage less often: a tenth less work, for some 50 MB of memory.
export GOGC=${GOGC:-200}
# Downloads missing modules, and prints each.
total=$(go list -deps "$@" | sort -u | wc -l)
tty=0
[[ -t 2 ]] && tty=1

# "go build -v" prints the path of each package that it compiles. Everything else that it
# prints, errors above all, passes through.
go build -v -ldflags "$ldflags" -o bin/ "$@" 2>&1 | awk -v total="$total" -v tty="$tty" '
	/^[^ :#]+$/ {
		if (!n++) printf "Compiling up to %d packages; a first build takes a few minutes.\n", total
		if (tty) printf "\r\033[K  %d  %s", n, $0
		else if (n % 50 == 0) printf "  %d packages\n", n
		fflush()
		next
	}
	{ if (tty && n) printf "\r\033[K"; print; fflush() }
	END { if (tty && n) printf "\r\033[K"; if (n) printf "  %d packages compiled\n", n }
' >&2
