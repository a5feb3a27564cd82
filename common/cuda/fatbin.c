/* The device image: compared with the one in the shared object, and read for what its kernels need.
 *
 * In: an ELF file whose content a stranger influenced (assembler statements can fill any section), and nvcc's fatbin.
 * Out: yes or no, and figures. A source can embed a foreign image and register it itself; device code is never taken
 * from the object, and the check says early that somebody tried. Formats: the fatbin is a header of 16 bytes (magic,
 * version, its own size, size of the rest) and entries (kind, version, header size, payload size; further on the size
 * when compressed, the architecture, flags, and the size before); kind 1 is PTX, kind 2 an ELF file whose .nv.info
 * sections hold attributes, seen in what nvcc 13.0 writes and compared with ptxas -v. */
#include "cuda/elf_view.h"
#include "cuda/fatbin.h"
#include "zst/zst.h"

enum {
	WRAPPER_BYTES = 24, FATBIN_HEADER = 16, KIND_PTX = 1, KIND_ELF = 2,
	ENTRY_WITH_FLAGS = 64, OFFSET_COMPRESSED_BYTES = 16, OFFSET_ARCHITECTURE = 28, OFFSET_FLAGS = 40, FLAG_ZSTD = 0x8000,
	FLAG_LZ4 = 0x2000, ATTRIBUTE_SIZED = 4, ATTRIBUTE_FRAME_SIZE = 0x11, ATTRIBUTE_REGISTERS = 0x2f,
	SHARED_RESERVED = 1024, RESERVES_IN_SECTION = 90,	/* from that architecture on */
};
#define FATBIN_MAGIC 0xba55ed50u

/* ---- the shared object */
/* The only section of this name, or NULL. */
static const uint8_t *
only_section(const struct elf_view *view, const char *name, Elf64_Shdr *found)
{
	Elf64_Shdr section;
	int count = 0;

	for (unsigned i = 0; elf_section(view, i, &section); i++)
		if (!strcmp(elf_section_name(view, &section), name)) {
			*found = section;
			count++;
		}
	return count == 1 ? elf_section_bytes(view, found) : NULL;
}

int
fatbin_check(const void *object, size_t object_bytes, const void *fatbin, size_t fatbin_bytes, struct buf *reason)
{
	Elf64_Shdr image, segment;
	const uint8_t *bytes;
	struct elf_view view;

	if (!elf_open(&view, object, object_bytes))
		return buf_err(reason, "the shared object is no sound ELF file");
	bytes = only_section(&view, ".nv_fatbin", &image);
	if (!bytes || !only_section(&view, ".nvFatBinSegment", &segment))
		return buf_err(reason, "the shared object has not exactly one device image");
	if (image.sh_size != fatbin_bytes || memcmp(bytes, fatbin, fatbin_bytes) != 0)
		return buf_err(reason, "the shared object carries device code that nvcc did not make from the source");
	if (segment.sh_size != WRAPPER_BYTES)
		return buf_err(reason, "the shared object registers more than one device image");
	return 0;
}

/* ---- the fatbin */
static uint64_t
little(const uint8_t *bytes, int count)
{
	uint64_t value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

static struct ptxinfo_kernel *
kernel_named(struct ptxinfo *info, const char *name)
{
	return (struct ptxinfo_kernel *)ptxinfo_kernel(info, name);	/* info is ours to change */
}

/* .nv.info: attributes of a byte of format, a byte of kind, two of size or value, then the value of sized ones; those
 * for a kernel start with the number of its symbol. */
static void
read_attributes(const struct elf_view *view, const Elf64_Shdr *section, struct ptxinfo *info)
{
	const uint8_t *at = elf_section_bytes(view, section), *end = at ? at + section->sh_size : NULL, *symbols;
	Elf64_Shdr table, strings;
	Elf64_Sym symbol;

	if (!at || !elf_section(view, section->sh_link, &table) || !elf_section(view, table.sh_link, &strings) ||
	    !(symbols = elf_section_bytes(view, &table)))
		return;
	while (end - at >= 4) {
		uint64_t size = at[0] == ATTRIBUTE_SIZED ? little(at + 2, 2) : 0;
		uint8_t kind = at[1];
		struct ptxinfo_kernel *k;

		at += 4;
		if (size > (uint64_t)(end - at))
			return;
		if (size == 8 && (kind == ATTRIBUTE_REGISTERS || kind == ATTRIBUTE_FRAME_SIZE) &&
		    little(at, 4) < table.sh_size / sizeof symbol) {
			memcpy(&symbol, symbols + little(at, 4) * sizeof symbol, sizeof symbol);
			k = kernel_named(info, elf_string(view, &strings, symbol.st_name));
			if (k)
				*(kind == ATTRIBUTE_REGISTERS ? &k->registers : &k->local_bytes) = (uint32_t)little(at + 4, 4);
		}
		at += size;
	}
}

static void
read_machine_code(const struct elf_view *view, uint64_t architecture, struct ptxinfo *info)
{
	static const char shared[] = ".nv.shared.";
	uint32_t reserved = architecture >= RESERVES_IN_SECTION ? SHARED_RESERVED : 0;
	Elf64_Shdr section;

	for (unsigned i = 0; elf_section(view, i, &section); i++) {
		const char *name = elf_section_name(view, &section);
		struct ptxinfo_kernel *k;

		if (!strcmp(name, ".nv.info")) {
			read_attributes(view, &section, info);
		} else if (!strncmp(name, shared, sizeof shared - 1) && (k = kernel_named(info, name + sizeof shared - 1))) {
			/* The system's own part comes first, where ptxas lays it out. */
			k->static_shared = section.sh_size > reserved && section.sh_size < UINT32_MAX ?
				(uint32_t)section.sh_size - reserved : 0;
		}
	}
}

int
fatbin_resources(const void *fatbin, size_t fatbin_bytes, struct ptxinfo *info, struct buf *err)
{
	const uint8_t *bytes = fatbin;
	uint64_t at = FATBIN_HEADER;
	struct elf_view view;

	if (fatbin_bytes < FATBIN_HEADER || little(bytes, 4) != FATBIN_MAGIC || little(bytes + 6, 2) != FATBIN_HEADER)
		return buf_err(err, "the device image is no fatbin of a known form");
	while (fatbin_bytes - at >= ENTRY_WITH_FLAGS) {
		uint64_t header = little(bytes + at + 4, 4), payload = little(bytes + at + 8, 8);

		if (header < ENTRY_WITH_FLAGS || header > fatbin_bytes - at || payload > fatbin_bytes - at - header)
			return buf_err(err, "the device image's entries run past its end");
		if (little(bytes + at, 2) == KIND_ELF && elf_open(&view, bytes + at + header, payload)) {
			read_machine_code(&view, little(bytes + at + OFFSET_ARCHITECTURE, 4), info);
			return 0;
		}
		at += header + payload;
	}
	return buf_err(err, "the device image holds no machine code");
}

/* ---- images of whole programs */
size_t
fatbin_bytes(const void *fatbin)
{
	const uint8_t *bytes = fatbin;

	if (little(bytes, 4) != FATBIN_MAGIC || little(bytes + 6, 2) != FATBIN_HEADER || little(bytes + 8, 8) > PTXINFO_MAX_BYTES)
		return 0;
	return FATBIN_HEADER + little(bytes + 8, 8);
}

static int
take_ptx(const uint8_t *entry, struct buf *out, struct buf *err)
{
	uint64_t header = little(entry + 4, 4), payload = little(entry + 8, 8), flags = little(entry + OFFSET_FLAGS, 8);
	uint64_t compressed = little(entry + OFFSET_COMPRESSED_BYTES, 4);

	if (flags & FLAG_LZ4)
		return buf_err(err, "its PTX is compressed with LZ4, which is not read: build with -no-compress");
	if (flags & FLAG_ZSTD)
		return zst_decode(entry + header, compressed && compressed < payload ? compressed : payload, PTXINFO_MAX_BYTES, out,
			err);
	/* The payload is padded with zeros. */
	buf_add(out, entry + header, strnlen((const char *)entry + header, payload));
	return 0;
}

int
fatbin_ptx(const void *fatbin, size_t bytes, unsigned most, struct buf *out, struct buf *err)
{
	const uint8_t *start = fatbin, *best = NULL;
	uint64_t at = FATBIN_HEADER, best_architecture = 0;

	while (bytes - at >= ENTRY_WITH_FLAGS) {
		uint64_t header = little(start + at + 4, 4), payload = little(start + at + 8, 8);
		uint64_t architecture = little(start + at + OFFSET_ARCHITECTURE, 4);

		if (header < ENTRY_WITH_FLAGS || header > bytes - at || payload > bytes - at - header)
			return buf_err(err, "the device image's entries run past its end");
		if (little(start + at, 2) == KIND_PTX && architecture <= most && architecture >= best_architecture) {
			best = start + at;
			best_architecture = architecture;
		}
		at += header + payload;
	}
	if (!best)
		return buf_err(err, "it holds no PTX for compute capability %u.%u or less, only other code: build with -gencode "
			"arch=compute_%u,code=compute_%u, and not with -rdc=true", most / 10, most % 10, most, most);
	return take_ptx(best, out, err);
}
