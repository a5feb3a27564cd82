# The right kernels of tests/faults and those of tests/gpu/kernels, as solutions of tasks whose oracle is plain C.

@test "kernels give on the PTX machine what plain C gives" {
	make -s BUILD="$KM_OUT" "$KM_OUT/gpu/verdicts"
	tests/gpu/agreement/verdicts.sh prepare "$BATS_TEST_TMPDIR"
	grep -E '"author": ?"(right|table)/' "$BATS_TEST_TMPDIR/cases.jsonl" >"$BATS_TEST_TMPDIR/some"
	mv "$BATS_TEST_TMPDIR/some" "$BATS_TEST_TMPDIR/cases.jsonl"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/cases.jsonl")" -ge 208 ]
	tests/gpu/agreement/verdicts.sh run "$BATS_TEST_TMPDIR" cpu
	# no word of one that did not pass, but for a video instruction that may be refused
	cat "$BATS_TEST_TMPDIR/cpu.said"
	[ "$(grep -vcE 'table_integer_packed_simd: .*UNSUPPORTED|: PASSED' "$BATS_TEST_TMPDIR/cpu.said")" -eq 0 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/cpu.jsonl")" -ge 208 ]
}
