/* The device image inside a shared object, compared with the one that nvcc kept.
 *
 * In: an ELF file whose content a stranger influenced (assembler statements can fill any section), and nvcc's fatbin.
 * Out: yes or no. A source can embed a foreign image and register it itself; device code is never taken from here, and
 * this check says early that somebody tried. */
#include <elf.h>
#include <stdbool.h>

#include "cuda/fatbin.h"

enum { WRAPPER_BYTES = 24, MAX_SECTIONS = 4096 };

struct object {
	const uint8_t *bytes;
	size_t count;
	Elf64_Ehdr header;
	struct buf *reason;
};

static bool
within(const struct object *o, uint64_t offset, uint64_t bytes)
{
	return offset <= o->count && bytes <= o->count - offset;
}

static int
section_at(const struct object *o, unsigned i, Elf64_Shdr *section)
{
	uint64_t offset = o->header.e_shoff + (uint64_t)i * sizeof *section;

	if (i >= o->header.e_shnum || !within(o, offset, sizeof *section))
		return buf_err(o->reason, "the shared object's section table is damaged");
	memcpy(section, o->bytes + offset, sizeof *section);
	return 0;
}

/* The only section of this name; -1 when there is none or more than one. */
static int
find_section(const struct object *o, const char *name, Elf64_Shdr *found)
{
	Elf64_Shdr names, section;
	int count = 0;

	if (section_at(o, o->header.e_shstrndx, &names) < 0)
		return -1;
	if (!within(o, names.sh_offset, names.sh_size))
		return buf_err(o->reason, "the shared object's section names are damaged");
	for (unsigned i = 0; i < o->header.e_shnum; i++) {
		uint64_t room;

		if (section_at(o, i, &section) < 0)
			return -1;
		if (section.sh_name >= names.sh_size)
			continue;
		room = names.sh_size - section.sh_name;
		if (room > strlen(name) && !memcmp(o->bytes + names.sh_offset + section.sh_name, name, strlen(name) + 1)) {
			*found = section;
			count++;
		}
	}
	if (count != 1 || found->sh_type == SHT_NOBITS || !within(o, found->sh_offset, found->sh_size))
		return buf_err(o->reason, "the shared object has %d sections %s instead of one", count, name);
	return 0;
}

int
fatbin_check(const void *object, size_t object_bytes, const void *fatbin, size_t fatbin_bytes, struct buf *reason)
{
	struct object o = { object, object_bytes, .reason = reason };
	Elf64_Shdr image, segment;

	if (object_bytes < sizeof o.header || memcmp(object, ELFMAG, SELFMAG) != 0)
		return buf_err(reason, "the shared object is no ELF file");
	memcpy(&o.header, object, sizeof o.header);
	if (o.header.e_ident[EI_CLASS] != ELFCLASS64 || o.header.e_shentsize != sizeof(Elf64_Shdr) ||
	    o.header.e_shnum > MAX_SECTIONS)
		return buf_err(reason, "the shared object is no ELF file of this machine");
	if (find_section(&o, ".nv_fatbin", &image) < 0 || find_section(&o, ".nvFatBinSegment", &segment) < 0)
		return -1;
	if (image.sh_size != fatbin_bytes || memcmp(o.bytes + image.sh_offset, fatbin, fatbin_bytes) != 0)
		return buf_err(reason, "the shared object carries device code that nvcc did not make from the source");
	if (segment.sh_size != WRAPPER_BYTES)
		return buf_err(reason, "the shared object registers more than one device image");
	return 0;
}
