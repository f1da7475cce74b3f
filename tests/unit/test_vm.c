// SPDX-License-Identifier: BSD-2-Clause
/* What guests are made of, without booting one: archives, compressed modules, names and versions, QEMU's words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "target.h"
#include "vm/cpio.h"
#include "vm/fetch.h"
#include "vm/machine_kind.h"
#include "vm/pvh.h"
#include "vm/qemu_args.h"
#include "vm/store.h"
#include "vm/subprocess.h"
#include "vm/unpack.h"

/* -------------------------------------------------------------- archives */

struct member {
	char name[64];
	uint32_t mode, size;
	const char *data;
};

static uint32_t hex(const char *p)
{
	char text[9] = "";

	memcpy(text, p, 8);
	return (uint32_t)strtoul(text, NULL, 16);
}

/* Reads one member as the kernel does; the offset of the next. */
static size_t read_member(const char *archive, size_t at, struct member *m)
{
	const char *head = archive + at;
	uint32_t name_len = hex(head + 94);

	assert_memory_equal(head, "070701", 6);
	assert_int_equal(at % 4, 0);
	m->mode = hex(head + 14);
	m->size = hex(head + 54);
	assert_true(name_len < sizeof(m->name));
	memcpy(m->name, head + 110, name_len);
	assert_int_equal(strlen(m->name) + 1, name_len);
	at = (at + 110 + name_len + 3) & ~(size_t)3;
	m->data = archive + at;
	return (at + m->size + 3) & ~(size_t)3;
}

static void test_cpio(void **state)
{
	char *archive;
	size_t len, at = 0;
	FILE *f = open_memstream(&archive, &len);
	struct member m;
	struct cpio c;

	cpio_begin(&c, f);
	cpio_folder(&c, "dev");
	cpio_device(&c, "dev/console", 5, 1);
	cpio_file(&c, "init", 0755, "hello", 5);
	cpio_file(&c, "empty", 0644, NULL, 0);
	assert_int_equal(cpio_end(&c), 0);
	fclose(f);
	assert_int_equal(len % 512, 0);

	at = read_member(archive, at, &m);
	assert_string_equal(m.name, "dev");
	assert_int_equal(m.mode, S_IFDIR | 0755);
	assert_int_equal(hex(archive + at + 78), 5); /* major and minor of the node */
	assert_int_equal(hex(archive + at + 86), 1);
	at = read_member(archive, at, &m);
	assert_string_equal(m.name, "dev/console");
	assert_int_equal(m.mode, S_IFCHR | 0600);
	at = read_member(archive, at, &m);
	assert_string_equal(m.name, "init");
	assert_int_equal(m.mode, S_IFREG | 0755);
	assert_int_equal(m.size, 5);
	assert_memory_equal(m.data, "hello\0\0\0", 8);
	at = read_member(archive, at, &m);
	assert_string_equal(m.name, "empty");
	assert_int_equal(m.size, 0);
	at = read_member(archive, at, &m);
	assert_string_equal(m.name, "TRAILER!!!");
	assert_true(at <= len);
	free(archive);
}

/* A full disk is an error at the end, whatever came before. */
static void test_cpio_full(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct cpio c;

	assert_non_null(f);
	cpio_begin(&c, f);
	cpio_file(&c, "init", 0755, "x", 1);
	assert_int_equal(cpio_end(&c), -ENOSPC);
	fclose(f);
}

/* -------------------------------------------------------------- compressed files */

static void *compressed(bool xz, const char *text, size_t len, size_t *out_len)
{
	size_t max = ZSTD_compressBound(len) + 1024;
	uint8_t *out = malloc(max);

	*out_len = 0;
	if (xz)
		assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, len,
							 out, out_len, max), LZMA_OK);
	else
		*out_len = ZSTD_compress(out, max, text, len, 1);
	return out;
}

static void test_unpack(void **state)
{
	char *text = malloc(100000);
	struct errline e;

	for (int i = 0; i < 100000; i++)
		text[i] = (char)((unsigned int)i * (unsigned int)i >> 3);
	for (int xz = 0; xz < 2; xz++) {
		size_t len, full;
		void *data = compressed(xz, text, 100000, &full);

		len = full;
		assert_int_equal(unpack("m.ko", &data, &len, &e), 0);
		assert_int_equal(len, 100000);
		assert_memory_equal(data, text, 100000);
		free(data);
		/* every kind of truncation is damage, and leaves the data as it was */
		for (size_t cut = full - 1; cut > 8; cut -= cut / 9 + 1) {
			data = compressed(xz, text, 100000, &len);
			len = cut;
			assert_int_equal(unpack("m.ko", &data, &len, &e), -EINVAL);
			assert_non_null(strstr(e.text, "'m.ko' is damaged"));
			free(data);
		}
	}
	free(text);
}

/* More than a module can be, from a few bytes. */
static void test_unpack_bomb(void **state)
{
	char *zeros = calloc(1, UNPACK_MAX + 4096);
	struct errline e;

	for (int xz = 0; xz < 2; xz++) {
		size_t len;
		void *data = compressed(xz, zeros, UNPACK_MAX + 4096, &len);

		assert_true(len < UNPACK_MAX / 100);
		assert_int_equal(unpack("m.ko", &data, &len, &e), -EFBIG);
		free(data);
	}
	free(zeros);
}

/* ---- x86-64 kernels, unpacked ---- */

struct fake_image {
	unsigned char bytes[8192];
	size_t len;
};

/* A bzImage of one sector of setup with an ELF file in it, whose only note is @type of @owner. */
static void make_image(struct fake_image *image, const char *owner, uint32_t type)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Nhdr note;
		char owner[4], entry[4];
	} elf = {
		.head = { .e_ident = ELFMAG, .e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.segment = { .p_type = PT_NOTE, .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			     .p_filesz = sizeof(Elf64_Nhdr) + 8 },
		.note = { .n_namesz = 4, .n_descsz = 4, .n_type = type },
	};
	const uint32_t len = sizeof(elf);
	uint32_t packed;

	memcpy(elf.owner, owner, 4);
	memset(image, 0, sizeof(*image));
	image->bytes[0x1f1] = 1;
	memcpy(image->bytes + 0x202, "HdrS", 4);
	packed = (uint32_t)ZSTD_compress(image->bytes + 1024 + 16, 4096, &elf, sizeof(elf), 1);
	assert_false(ZSTD_isError(packed));
	memcpy(image->bytes + 1024 + 16 + packed, &len, 4);
	packed += 4;
	memcpy(image->bytes + 0x248, &(uint32_t){ 16 }, 4);
	memcpy(image->bytes + 0x24c, &packed, 4);
	image->len = 1024 + 16 + packed;
}

static int pvh_of(const struct fake_image *image)
{
	char path[] = "pvh-XXXXXX";
	int fd = mkstemp(path), kernel;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->bytes, image->len), image->len);
	close(fd);
	kernel = pvh_kernel(path);
	unlink(path);
	return kernel;
}

static void test_pvh(void **state)
{
	struct fake_image image;
	char magic[4];
	int fd;

	make_image(&image, "Xen", 18);
	fd = pvh_of(&image);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, magic, 4, 0), 4);
	assert_memory_equal(magic, ELFMAG, 4);
	close(fd);

	/* no entry, or not a note of it */
	make_image(&image, "Xen", 17);
	assert_int_equal(pvh_of(&image), -1);
	make_image(&image, "GNU", 18);
	assert_int_equal(pvh_of(&image), -1);
	/* cut off at any place, or with any word of its header wrong, it boots as it is or fails there */
	make_image(&image, "Xen", 18);
	for (size_t len = image.len; len-- > 0;) {
		struct fake_image cut = image;

		cut.len = len;
		assert_int_equal(pvh_of(&cut), -1);
	}
	for (size_t at = 0x1f1; at < 0x250; at++) {
		struct fake_image wrong = image;

		if (at > 0x1f1 && at < 0x202)
			continue;
		if (at > 0x205 && at < 0x248)
			continue;
		wrong.bytes[at] ^= 0xff;
		assert_int_equal(pvh_of(&wrong), -1);
	}
	/* another length than it has, or than it may have */
	image.bytes[image.len - 4] ^= 1;
	assert_int_equal(pvh_of(&image), -1);
	memset(image.bytes + image.len - 4, 0xff, 4);
	assert_int_equal(pvh_of(&image), -1);
	assert_int_equal(pvh_kernel("/nowhere"), -1);
}

static void test_unpack_plain(void **state)
{
	void *data = strdup("\177ELF whatever");
	size_t len = 13;
	struct errline e;

	assert_int_equal(unpack("m.ko", &data, &len, &e), 0);
	assert_int_equal(len, 13);
	free(data);
	assert_int_equal(unpack_read("/", 1, &data, &len, &e), -EINVAL);
	assert_int_equal(unpack_read("/nowhere", 1, &data, &len, &e), -ENOENT);
	assert_int_equal(unpack_read("/proc/self/exe", 16, &data, &len, &e), -EFBIG);
	assert_null(data);
}

/* -------------------------------------------------------------- images, names, versions */

static void test_images(void **state)
{
	char image[1024] = "MZ";
	const char *what;

	memcpy(image + 0x202, "HdrS", 4);
	assert_string_equal(machine_of_image(image, sizeof(image), &what)->name, "x86_64");
	assert_null(machine_of_image(image, 0x204, &what));
	assert_string_equal(what, "no kernel image");
	memset(image, 0, sizeof(image));
	memcpy(image + 0x38, "ARM\x64", 4);
	assert_string_equal(machine_of_image(image, sizeof(image), &what)->name, "arm64");
	assert_null(machine_of_image("\177ELFxxxxxxxx", 12, &what));
	assert_non_null(strstr(what, "ELF"));
	assert_null(machine_of_image("", 0, &what));
	assert_string_equal(what, "empty");
}

static void test_versions(void **state)
{
	assert_true(store_compare_versions("6.9", "6.12") < 0);
	assert_true(store_compare_versions("6.12.118", "6.12.95") > 0);
	assert_true(store_compare_versions("6.12", "6.12.1") < 0);
	assert_true(store_compare_versions("6.12-rc3", "6.12") < 0);
	assert_true(store_compare_versions("6.12-rc3", "6.12.1") < 0);
	assert_true(store_compare_versions("6.12-rc3", "6.12-rc10") < 0);
	assert_true(store_compare_versions("6.12~rc7-amd64", "6.12-amd64") < 0);
	assert_true(store_compare_versions("6.12", "6.12-rc3") > 0);
	assert_true(store_compare_versions("6.11", "6.12-rc1") < 0);
	assert_true(store_compare_versions("6.12-rt", "6.12") > 0);
	assert_int_equal(store_compare_versions("7.3.4-1~bpo13+1", "7.3.4-1~bpo13+1"), 0);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "../x", "a/b", "-x", "a,b", "a=b", "a b", "\xc3\xa4",
					   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct errline e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(store_check_name(bad[i], &e), -EINVAL);
	assert_int_equal(store_check_name("6.12.118", &e), 0);
	assert_int_equal(store_check_name("my-fix_2", &e), 0);
}

/* -------------------------------------------------------------- the store */

static char cache[64];

static int set_up(void **state)
{
	snprintf(cache, sizeof(cache), "/tmp/test_vm-XXXXXX");
	if (!mkdtemp(cache))
		return -1;
	return setenv("XDG_CACHE_HOME", cache, 1);
}

static int tear_down(void **state)
{
	const char *const argv[] = { "rm", "-rf", cache, NULL };
	struct errline e;

	return subprocess_run(argv, NULL, NULL, &e);
}

static void commit(const char *name, const char *machine, const char *contents)
{
	struct store_stage s;
	struct errline e;
	char path[4200];
	FILE *f;

	assert_int_equal(store_stage_begin(&s, &e), 0);
	snprintf(path, sizeof(path), "%s/vmlinuz", s.dir);
	f = fopen(path, "w");
	fputs(contents, f);
	fclose(f);
	assert_int_equal(store_stage_commit(&s, name, machine_find(machine), "", &e), 0);
	store_stage_end(&s);
}

static void test_store(void **state)
{
	const struct machine_kind *x86 = machine_find("amd64");
	struct kernel_list list;
	struct kernel k;
	struct errline e;

	assert_int_equal(store_find(&k, "6.12", x86, &e), -ENOENT);
	assert_non_null(strstr(e.text, "bpflab kernel fetch 6.12"));
	commit("6.12.9", "x86_64", "old");
	commit("6.12.118", "x86_64", "new");
	commit("6.120.1", "x86_64", "another line");
	commit("6.12.200", "arm64", "another machine");
	commit("mine", "x86_64", "mine");
	assert_int_equal(store_find(&k, "6.12", x86, &e), 0);
	assert_string_equal(k.name, "6.12.118");
	assert_int_equal(store_find(&k, "6.12.9", x86, &e), 0);
	assert_string_equal(k.name, "6.12.9");
	assert_int_equal(store_find(&k, "mi", x86, &e), -ENOENT);
	assert_int_equal(store_find(&k, "mine", machine_find("arm64"), &e), -ENOENT);
	assert_non_null(strstr(e.text, "for x86_64 only"));
	/* in place of one that is there */
	commit("mine", "x86_64", "mine, again");
	assert_int_equal(store_list(&list, &e), 0);
	assert_int_equal(list.nr, 5);
	store_list_release(&list);
	assert_int_equal(store_find(&k, "mine", x86, &e), 0);
	assert_int_equal(store_remove(&k, &e), 0);
	assert_int_equal(store_find(&k, "mine", x86, &e), -ENOENT);
}

/* What a process left that died is never a kernel, and goes; what one is at stays. */
static void test_store_staging(void **state)
{
	struct store_stage mine, next;
	char dead[4200], root[4096];
	struct kernel_list list;
	struct errline e;

	assert_int_equal(store_dir(root, sizeof(root), &e), 0);
	snprintf(dead, sizeof(dead), "%s/.staging-dead00", root);
	assert_int_equal(mkdir(dead, 0700), 0);
	assert_int_equal(store_stage_begin(&mine, &e), 0);
	assert_int_equal(access(dead, F_OK), -1);
	assert_int_equal(store_stage_begin(&next, &e), 0);
	assert_int_equal(access(mine.dir, F_OK), 0);
	assert_int_equal(store_list(&list, &e), 0);
	assert_int_equal(list.nr, 0);
	store_stage_end(&mine);
	snprintf(dead, sizeof(dead), "%s", next.dir);
	store_stage_end(&next);
	assert_int_equal(access(dead, F_OK), -1);
}

/* -------------------------------------------------------------- targets and QEMU's words */

static void test_spec(void **state)
{
	struct target t;
	struct errline e;

	assert_int_equal(target_parse(&t, "vm:6.12,arch=aarch64,smp=2,mem=1024,cmdline=bpf_jit_enable=0,cmdline=x", &e),
			 0);
	assert_true(target_is_vm(&t));
	assert_string_equal(t.vm.version, "6.12");
	assert_string_equal(t.vm.machine->name, "arm64");
	assert_int_equal(t.vm.smp, 2);
	assert_int_equal(t.vm.mem, 1024);
	assert_string_equal(t.vm.cmdline, "bpf_jit_enable=0 x");
	for (const char *const *bad = (const char *const[]){ "vm", "vm:", "vm:,smp=1", "vm:../x", "vm:6.12,arch=mips",
							     "vm:6.12,smp=0", "vm:6.12,smp=65", "vm:6.12,mem=1",
							     "vm:6.12,smp", "vm:6.12,smp=", "vm:6.12,arhc=arm64", NULL };
	     *bad; bad++) {
		e.text[0] = '\0';
		assert_int_equal(target_parse(&t, *bad, &e), -EINVAL);
		assert_true(e.text[0]);
	}
	assert_non_null(strstr(e.text, "did you mean 'arch'?"));
}

static const char *after(const struct qemu_args *a, const char *option)
{
	const char *found = NULL;

	for (size_t i = 0; i + 1 < a->nr; i++)
		if (!strcmp(a->argv[i], option)) {
			assert_null(found); /* once */
			found = a->argv[i + 1];
		}
	return found;
}

static void test_qemu_args(void **state)
{
	const struct qemu_files files = { NULL, "I", "C", { NULL, "P1", "P2", "P3" } };
	struct kernel k = { .image = "/k/vmlinuz" };
	struct qemu_args a;
	struct target t;
	struct errline e;

	assert_int_equal(target_parse(&t, "vm:6.12,smp=2,cmdline=extra=1", &e), 0);
	unsetenv("BPFLAB_QEMU_ARGS");
	assert_int_equal(qemu_args_make(&a, &t.vm, &k, &files, NULL, &e), 0);
	assert_string_equal(a.argv[0], "qemu-system-x86_64");
	assert_string_equal(after(&a, "-kernel"), "/k/vmlinuz");
	assert_string_equal(after(&a, "-initrd"), "I");
	assert_string_equal(after(&a, "-smp"), "2");
	assert_string_equal(after(&a, "-m"), "512");
	assert_string_equal(after(&a, "-serial"), "file:C");
	assert_non_null(strstr(after(&a, "-append"), "console=ttyS0 "));
	assert_string_equal(strrchr(after(&a, "-append"), ' '), " extra=1");
	qemu_args_release(&a);

	assert_int_equal(qemu_args_make(&a, &t.vm, &k, &(struct qemu_files){ .kernel = "K", .initrd = "I",
									     .console = "C" }, NULL, &e), 0);
	assert_string_equal(after(&a, "-kernel"), "K");
	qemu_args_release(&a);

	/* what is given replaces ours, and comes last */
	setenv("BPFLAB_QEMU_ARGS", " -name  x ", 1);
	assert_int_equal(qemu_args_make(&a, &t.vm, &k, &files, "-m 700 -accel kvm", &e), 0);
	assert_string_equal(after(&a, "-m"), "700");
	assert_string_equal(after(&a, "-accel"), "kvm");
	assert_string_equal(after(&a, "-name"), "x");
	assert_string_equal(a.argv[a.nr - 1], "x");
	assert_null(a.argv[a.nr]);
	qemu_args_release(&a);
	unsetenv("BPFLAB_QEMU_ARGS");

	setenv("BPFLAB_QEMU_ARM64", "/opt/q", 1);
	assert_int_equal(target_parse(&t, "vm:6.12,arch=arm64", &e), 0);
	assert_int_equal(qemu_args_make(&a, &t.vm, &k, &files, NULL, &e), 0);
	assert_string_equal(a.argv[0], "/opt/q");
	assert_non_null(strstr(after(&a, "-append"), "console=ttyAMA0 "));
	qemu_args_release(&a);
	unsetenv("BPFLAB_QEMU_ARM64");
}

/* -------------------------------------------------------------- what apt says */

static void test_mirror(void **state)
{
	char mirror[64] = "";

	assert_true(fetch_find_mirror("# http://old.example/debian\nTypes: deb\nURIs: http://m.example/debian/\n", mirror,
				      sizeof(mirror)));
	assert_string_equal(mirror, "http://m.example/debian");
	assert_true(fetch_find_mirror("deb [a=b] https://m.example/debian x main", mirror, sizeof(mirror)));
	assert_string_equal(mirror, "https://m.example/debian");
	assert_false(fetch_find_mirror("URIs: http://m.example/debian-security http:// x", mirror, sizeof(mirror)));
	assert_false(fetch_find_mirror("", mirror, sizeof(mirror)));
}

static void test_images_of_line(void **state)
{
	char images[512] = "";

	fetch_pick_images("linux-image-6.12.118+deb13-cloud-amd64\nlinux-image-6.12.118+deb13-amd64\n"
			  "linux-image-6.12.118+deb13-cloud-amd64-dbg\nlinux-image-6.1.0-50-cloud-amd64\n"
			  "linux-image-6.120.1-cloud-amd64\nlinux-headers-6.12.118+deb13-cloud-amd64\n\nlinux-image-\n",
			  "6.12", machine_find("amd64"), images, sizeof(images));
	assert_string_equal(images, "linux-image-6.12.118+deb13-cloud-amd64\n");
	/* the name says 6.1.0, the version 6.1.176 */
	images[0] = '\0';
	fetch_pick_images("linux-image-6.1.0-50-cloud-amd64\n", "6.1.176", machine_find("amd64"), images,
			  sizeof(images));
	assert_string_equal(images, "linux-image-6.1.0-50-cloud-amd64\n");
	/* never more than there is room for */
	images[0] = '\0';
	fetch_pick_images("linux-image-6.1.0-50-cloud-amd64\n", "6.1", machine_find("amd64"), images, 20);
	assert_string_equal(images, "");
}

static void test_newest(void **state)
{
	char package[128], version[64], name[KERNEL_NAME_MAX];

	assert_true(fetch_pick_newest("Package: a\nVersion: 6.12.95-1~bpo12+1\n\nPackage: b\nVersion: 6.12.118-1\n\n"
				      "Package: c\nVersion: 6.120.1-1\n\nPackage: d\n\n\n\nVersion: 6.12.999\n",
				      "6.12", package, version, name));
	assert_string_equal(package, "b");
	assert_string_equal(version, "6.12.118-1");
	assert_string_equal(name, "6.12.118");
	assert_false(fetch_pick_newest("", "6.12", package, version, name));
	assert_false(fetch_pick_newest("Package", "6.12", package, version, name));
}

/* -------------------------------------------------------------- other programs */

static void test_subprocess(void **state)
{
	struct subprocess_output out;
	struct errline e;

	assert_int_equal(subprocess_run((const char *const[]){ "echo", "a b", NULL }, "/", &out, &e), 0);
	assert_string_equal(out.out.text, "a b\n");
	free(out.out.text);
	assert_int_equal(subprocess_run((const char *const[]){ "/no/such", NULL }, NULL, &out, &e), -ENOENT);
	assert_int_equal(subprocess_run((const char *const[]){ "ls", "/no/such", NULL }, NULL, &out, &e), -ECHILD);
	assert_non_null(strstr(e.text, "No such file"));
	assert_null(out.out.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpio),
		cmocka_unit_test(test_cpio_full),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_unpack_bomb),
		cmocka_unit_test(test_unpack_plain),
		cmocka_unit_test(test_pvh),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_store_staging, set_up, tear_down),
		cmocka_unit_test(test_spec),
		cmocka_unit_test(test_qemu_args),
		cmocka_unit_test(test_mirror),
		cmocka_unit_test(test_images_of_line),
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_subprocess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
