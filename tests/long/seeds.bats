# All seeds, from an empty store: seven shards and ten kills give the release of one undisturbed run.
load ../dag/common

setup_file() {
	load ../dag/common
	export reference="$BATS_FILE_TMPDIR/one"
	dataset "$reference" seeds/specs SHARDS=1
}

@test "seven shards give the same release as one" {
	dataset "$BATS_TEST_TMPDIR/out" seeds/specs SHARDS=7 STORE="$reference/store"
	diff <(digest "$reference/release") <(digest "$BATS_TEST_TMPDIR/out/release")
}

@test "ten kills at random moments change nothing and repeat nothing" {
	out="$BATS_TEST_TMPDIR/out"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		killed_after "$((RANDOM % 30)).$((RANDOM % 10))" "$out" seeds/specs SHARDS=7
	done
	dataset "$out" seeds/specs SHARDS=7
	diff <(digest "$reference/release") <(digest "$out/release")
	[ -s "$out/store/journal" ]
	[ -z "$(evaluated_twice "$out/store")" ]
}
