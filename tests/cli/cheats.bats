# The corpus of cheats, tests/cheats/corpus.txt, on the PTX machine: the part of it that is marked for `make test`. The
# rest is in tests/long, the same on a GPU in tests/gpu.

@test "cheats get the verdicts that they must, and their look-alikes pass" {
	tests/cheats/verdicts.sh cpu quick
}

@test "every item of the list has its cheats, or a reason why there can be none" {
	python3 - <<'P'
import os, re
items, names = set(), []
for line in open("tests/cheats/corpus.txt"):
    if line.startswith("#"):
        continue
    item, name, task, cpu, cuda, why = re.split(r"\s*(?<!\\)\|\s*", line.strip(), maxsplit=5)
    items.add(item.lstrip("*"))
    assert len(why) > 15, line
    if name == "-":
        assert not task and not cpu and not cuda, line
        continue
    names.append(name)
    assert "PASSED" != cpu and os.path.isdir("tests/cheats/tasks/" + task), line
    text = open(f"tests/cheats/{name}.cu").read()
    assert "#if CHEAT" in text or "#if !CHEAT" in text, name
assert items >= {str(i) for i in range(1, 47)} | {"d"}, items
assert len(names) == len(set(names))
assert set(names) == {f[:-3] for f in os.listdir("tests/cheats") if f.endswith(".cu")}
print(len(names), "cheats")
P
}
