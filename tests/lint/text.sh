#!/bin/bash
# What a reader trips over: long lines, long functions, blanks at line ends, man pages that do not render, stale options.
set -u
cd "$(dirname "$0")/../.."
out=${KM_OUT:-out}
tests=0 failures=0

report() { # description, offending lines
	tests=$((tests + 1))
	if [ -z "$2" ]; then echo "ok $tests - $1"; else
		echo "not ok $tests - $1"
		echo "$2" | head -20 | sed 's/^/# /'
		failures=1
	fi
}

sources=$(git ls-files "common/*.c" "common/*.h" "stages/*.c" "stages/*.h" "tests/*.c" "tests/*.sh")
long_lines() {
	for f in $sources; do
		expand -t 4 "$f" | awk -v f="$f" 'length > 130 { print f ":" NR ": " length " columns" }'
	done
}

long_functions() {
	awk 'FNR == 1 { start = 0 } /^{$/ { start = FNR }
		/^}$/ && start { if (FNR - start > 100) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' \
		$(git ls-files 'common/*.c' 'stages/*.c')
}

without_opening_comment() {
	for f in $(git ls-files 'common/*.c' 'common/*.h' 'stages/*.c' 'tests/*.c' ':!tests/data'); do
		[ "$(head -c 2 "$f")" = '/*' ] || [[ $f == *.h ]] || echo "$f"
	done
}

unclean_man_pages() {
	for f in "$out"/man/*.1; do mandoc -Tlint -Wwarning "$f" 2>&1; done | grep -v 'referenced manual not found'
}

undocumented_programs() {
	for d in stages/*/; do
		n=$(basename "$d")
		[ -f "stages/$n/km-$n.1" ] || echo "$n has no man page"
		"$out/bin/km-$n" -h | grep -q '^example: km-' || echo "$n has no example"
	done
}

report "lines have at most 130 columns" "$(long_lines)"
report "no blanks at line ends" "$(grep -nE "[ 	]+\$" $(echo "$sources" | grep -v "^tests/tui/"))"
report "functions have at most 100 lines" "$(long_functions)"
report "every source opens with a comment" "$(without_opening_comment)"
report "man pages are clean" "$(unclean_man_pages)"
report "every program has a man page and an example in its help" "$(undocumented_programs)"
notes=$(grep -nE 'TODO|FIXME|XXX|HACK' $sources | grep -v '^tests/lint/' | grep -vE "XXXXXX|uXXXX")
report "no note about work in progress is left" "$notes"
echo "1..$tests"
exit $failures
