/* Sections of a 64-bit ELF file in memory; every access is bounded, for the file may be a stranger's. */
#ifndef CUDA_ELF_VIEW_H
#define CUDA_ELF_VIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_view {
	const uint8_t *bytes;	/* borrowed */
	size_t count;
	Elf64_Ehdr header;
	Elf64_Shdr names;	/* the section of section names */
};

/* False when the bytes are no ELF file of this class with a section table inside. */
bool elf_open(struct elf_view *view, const void *bytes, size_t count);
/* Section i, or false past the end. */
bool elf_section(const struct elf_view *view, unsigned i, Elf64_Shdr *section);
/* Its name, "" when it has none or a damaged one. Borrowed. */
const char *elf_section_name(const struct elf_view *view, const Elf64_Shdr *section);
/* Its bytes, or NULL when they are not all in the file (or it has none there). Borrowed. */
const uint8_t *elf_section_bytes(const struct elf_view *view, const Elf64_Shdr *section);
/* A NUL-terminated string of a string table, or "". Borrowed. */
const char *elf_string(const struct elf_view *view, const Elf64_Shdr *table, uint64_t offset);

#endif
