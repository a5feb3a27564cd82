# The sandbox from outside: km-sandbox, the refusal where there are no namespaces, km-shim by hand.

bats_require_minimum_version 1.5.0

setup() {
	sandbox=${KM_OUT:-out}/libexec/kernelmosaic/km-sandbox
	cd "$BATS_TEST_TMPDIR"
}

needs_namespaces() {
	[ "$("$sandbox" --level 2>/dev/null)" = namespaces ] || skip "no level namespaces here"
}

# A machine that refuses user namespaces, for a plain user: inside another sandbox that refuses them.
without_namespaces() {
	bwrap --unshare-user --disable-userns --uid 1234 --gid 1234 --bind / / --dev /dev --proc /proc -- "$@"
}

@test "a program's output, files and status come back" {
	needs_namespaces
	echo text >file
	run -3 "$sandbox" -q --in file --out copy /bin/sh -c 'cat /in/file; cp /in/file /out/copy; exit 3'
	[ "$output" = text ]
	[ "$(cat copy)" = text ]
}

@test "a file that is not there is told" {
	needs_namespaces
	run -0 "$sandbox" -q --out none /usr/bin/true
	[ "$output" = "km-sandbox: /out/none: not fetched (missing)" ]
}

@test "the wall clock and a signal have their own status" {
	needs_namespaces
	run -124 "$sandbox" -q --wall-ms 200 /usr/bin/sleep 60
	run -139 "$sandbox" -q /bin/sh -c 'kill -SEGV $$'
}

@test "a missing program and a missing input are failures of the job, not results" {
	run -75 "$sandbox" -q /nowhere/program
	[ "$output" = "km-sandbox: /nowhere/program: cannot be run in the sandbox: No such file or directory." ]
	run -75 "$sandbox" -q --in nothing /usr/bin/true
	[ "$output" = "km-sandbox: nothing: cannot be opened: No such file or directory." ]
}

@test "where namespaces are refused, the level is refused in one line that says what to do" {
	needs_namespaces
	run -0 --separate-stderr without_namespaces "$sandbox" --level
	[ "$output" = landlock ]
	[[ "$stderr" = *"a user namespace"* ]]
	run -69 without_namespaces "$sandbox" -q /usr/bin/true
	[ "${#lines[@]}" = 1 ]
	[[ "$output" = "km-sandbox: No sandbox of level namespaces on this machine: "*"a user namespace"*"--sandbox landlock." ]]
}

@test "where namespaces are refused, a lower level still confines" {
	needs_namespaces
	run -0 without_namespaces "$sandbox" -q --sandbox landlock /bin/sh -c 'cat /etc/hostname; echo done'
	[[ "$output" = *"Permission denied"* ]]
	[[ "$output" = *done ]]
}

@test "without bubblewrap the line says which package to install" {
	needs_namespaces
	mkdir empty
	run -69 bwrap --bind / / --dev /dev --proc /proc --ro-bind /dev/null /usr/bin/bwrap -- "$sandbox" -q /usr/bin/true
	[[ "$output" = *"bubblewrap is missing (install the package bubblewrap)"* ]]
}

@test "an unknown level is a usage error" {
	run -64 "$sandbox" --sandbox strong /usr/bin/true
	[[ "$output" = *"strong: a sandbox level is namespaces, landlock or none"* ]]
}

@test "the supervisor refuses to be run by hand" {
	run -64 "${sandbox%/*}/km-shim"
	[[ "$output" = *"run by the sandbox, not by hand"* ]]
	run -120 "${sandbox%/*}/km-shim" 3 3</dev/null
}
