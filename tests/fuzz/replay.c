/* A fuzz target's other main: gives every file of the corpus folders to it once. In: folders. Out: a count.
 * What a fuzzer once found is replayed by every test run, without the fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int
replay(const char *folder)
{
	DIR *entries = opendir(folder);
	int files = 0;

	if (!entries)
		return 0;
	for (struct dirent *entry; (entry = readdir(entries));) {
		struct buf path = BUF_INIT, content = BUF_INIT, err = BUF_INIT;

		buf_addf(&path, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && buf_read_file(&content, path.data, 64 << 20, &err) == 0) {
			LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&content), content.len);
			files++;
		}
		buf_release(&path);
		buf_release(&content);
		buf_release(&err);
	}
	closedir(entries);
	return files;
}

int
main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++)
		files += replay(argv[i]);
	printf("%s: %d inputs replayed\n", argv[0], files);
	return files ? 0 : 1;
}
