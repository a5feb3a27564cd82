# What the tests of the whole DAG share: a run, a digest of a release, a run that is killed again and again.

root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# dataset OUT SPECS [VARIABLE=VALUE...]
dataset() {
	local out=$1 specs=$2
	shift 2
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" BUILD="$KM_OUT" OUT="$out" SPECS="$specs" MAX_REJECTS=0 DECISIONS="$root/seeds/review/decisions.jsonl" "$@" dataset
}

# The uncompressed content of a release, BUILD.json left out: it says what differs by machine or run.
digest() {
	(cd "$1" && find . -type f ! -name BUILD.json | LC_ALL=C sort | while read -r file; do
		case $file in
		*.zst) echo "$file $(zstd -dcq "$file" | sha256sum)" ;;
		*) echo "$file $(sha256sum <"$file")" ;;
		esac
	done)
}

# Runs dataset and kills it, with all its processes, after SECONDS.
killed_after() {
	local seconds=$1
	shift
	(export -f dataset; export root KM_OUT; exec setsid bash -c 'dataset "$@"' - "$@") >/dev/null 2>&1 &
	local pid=$!
	sleep "$seconds"
	kill -9 -- "-$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# Evaluations that were run and kept more than once, by the journal of a store.
evaluated_twice() {
	grep '^evaluated ' "$1/journal" | sort | uniq -d
}
