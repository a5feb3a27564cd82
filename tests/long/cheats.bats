# The part of the corpus of cheats that is not in `make test`.

@test "the other cheats get the verdicts that they must, and their look-alikes pass" {
	tests/cheats/verdicts.sh cpu rest
}
