/* A bounded look at an ELF file.
 *
 * In: bytes. Out: sections, names, strings. Offsets and sizes in the file are believed only after they were compared
 * with its length. */
#include <string.h>

#include "cuda/elf_view.h"

enum { MAX_SECTIONS = 16384 };

static bool
within(const struct elf_view *view, uint64_t offset, uint64_t bytes)
{
	return offset <= view->count && bytes <= view->count - offset;
}

bool
elf_section(const struct elf_view *view, unsigned i, Elf64_Shdr *section)
{
	uint64_t offset = view->header.e_shoff + (uint64_t)i * sizeof *section;

	if (i >= view->header.e_shnum || offset < view->header.e_shoff || !within(view, offset, sizeof *section))
		return false;
	memcpy(section, view->bytes + offset, sizeof *section);
	return true;
}

bool
elf_open(struct elf_view *view, const void *bytes, size_t count)
{
	*view = (struct elf_view){ .bytes = bytes, .count = count };
	if (count < sizeof view->header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&view->header, bytes, sizeof view->header);
	return view->header.e_ident[EI_CLASS] == ELFCLASS64 && view->header.e_shentsize == sizeof(Elf64_Shdr) &&
		view->header.e_shnum <= MAX_SECTIONS && elf_section(view, view->header.e_shstrndx, &view->names) &&
		elf_section_bytes(view, &view->names);
}

const uint8_t *
elf_section_bytes(const struct elf_view *view, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && within(view, section->sh_offset, section->sh_size) ?
		view->bytes + section->sh_offset : NULL;
}

const char *
elf_string(const struct elf_view *view, const Elf64_Shdr *table, uint64_t offset)
{
	const uint8_t *bytes = elf_section_bytes(view, table);

	if (!bytes || offset >= table->sh_size || !memchr(bytes + offset, 0, table->sh_size - offset))
		return "";
	return (const char *)bytes + offset;
}

const char *
elf_section_name(const struct elf_view *view, const Elf64_Shdr *section)
{
	return elf_string(view, &view->names, section->sh_name);
}
