#!/bin/bash
# Includes point down only, and each library is used by one folder. The layers are the Makefile's LIBS_ lists.
set -u
cd "$(dirname "$0")/../.."
failures=0 tests=0

report() { # description, offending lines
	tests=$((tests + 1))
	if [ -z "$2" ]; then
		echo "ok $tests - $1"
	else
		echo "not ok $tests - $1"
		echo "$2" | sed 's/^/# /'
		failures=1
	fi
}

includes() { # folder: "file included-folder" pairs
	grep -Ho '^#include "[a-z0-9_]*/' "$1"/*.[ch] 2>/dev/null | sed 's/:#include "/ /; s,/$,,'
}

make -s layers | while read -r folder allowed; do
	includes "common/$folder" | while read -r file used; do
		case " $allowed " in *" $used "*) ;; *) echo "$file includes $used/" ;; esac
	done
done >"${TMPDIR:-/tmp}/layers.$$"
report "common/ includes point down only" "$(cat "${TMPDIR:-/tmp}/layers.$$")"
rm -f "${TMPDIR:-/tmp}/layers.$$"

known=" $(make -s layers | cut -d' ' -f1 | tr '\n' ' ')"
bad=$(for stage in stages/*/; do
	includes "${stage%/}" | while read -r file used; do
		case "$known" in *" $used "*) ;; *) echo "$file includes $used/" ;; esac
	done
done)
report "stages include common only" "$bad"

only() { # header pattern, allowed path pattern, name
	report "$3 is used by $2 only" "$(grep -lE "^#include <($1)>" -r common stages --include=*.[ch] | grep -vE "^$2" || true)"
}
only 'xxhash\.h|xxh3\.h' 'common/hash/' xxHash
only 'openssl/.*' 'common/hash/' libcrypto
only 'zstd.*\.h' 'common/zst/' zstd
only 'sqlite3\.h' 'common/store/' SQLite
only 'curl/.*' 'common/llm/' libcurl
only 'seccomp\.h|linux/landlock\.h|linux/seccomp\.h' 'common/sandbox/' seccomp
only 'cuda.*\.h|nvrtc\.h|driver_types\.h' 'common/cuda/' CUDA
only 'n?curses(w/.*)?\.h' 'stages/review/' ncurses
report "base uses nothing but libc" "$(grep -lE '^#include <(jansson)' common/base/*.[ch] || true)"
report "every header is guarded" "$(grep -L '^#ifndef .*_H$' common/*/*.h stages/*/*.h)"
echo "1..$tests"
exit $failures
