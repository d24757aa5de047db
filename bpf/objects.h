/* What calls are made on: paths, and what descriptors refer to. */
#pragma once
#include "arguments.h"

INLINE struct details *these_details(void)
{
	u32 cpu = get_smp_processor_id();
	return map_lookup(&details, &cpu);
}

INLINE u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* The hash of the path of `length` bytes in w->path, which names_in() has seen, and whose name is noted. */
INLINE u64 note_path(struct window *w, long length)
{
	struct details *d = these_details();
	u64 hash;
	/* names_in() left it with as many ranges as its loop has ends. */
	length = forget(w, length);
	hash = length;
	if (!d || length < 1 || length > PATH_BYTES) return 0;
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PATH_BYTES; at += 8) {
		if (at >= length - 1) break;
		hash = mix(hash, *(u64 *)(w->path + at));
	}
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	w->path[length - 1] = 0;
	d->name.inode = d->name.device = d->name.kind = 0;
	d->name.length = length;
	probe_read_kernel_str(d->name.text, TEXT_BYTES, w->path);
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

INLINE struct inode *inode_of(struct file *file)
{
	struct inode *inode = 0;
	probe_read_kernel(&inode, sizeof inode, &file->f_inode);
	return inode;
}

/* Notes the names of a file and of the directories around it, outwards until the root of its file system. */
INLINE void note_parts(struct details *d, struct dentry *at)
{
	struct dentry *parent;
	const unsigned char *text;
	u64 count = 0;
#pragma clang loop unroll(disable)
	for (u32 part = 0; part < PARTS; part++) {
		text = 0;
		parent = 0;
		probe_read_kernel(&text, sizeof text, &at->d_name.name);
		probe_read_kernel_str(d->name.text + part * PART_BYTES, PART_BYTES, text);
		count += 1;
		probe_read_kernel(&parent, sizeof parent, &at->d_parent);
		if (!parent || parent == at) break;
		at = parent;
	}
	d->name.length = count;
}

/* The hash of what a descriptor of the running task refers to, whose name is noted; 0 if it is not open. The first bytes
 * of the name are part of the hash, because all anonymous files share an inode. */
INLINE u64 note_descriptor(struct window *w, struct task_struct *current, u32 number)
{
	struct details *d = these_details();
	struct fdtable *table = current->files->fdt;
	struct file *file = 0;
	struct super_block *of = 0;
	struct dentry *dentry = 0;
	const unsigned char *text = 0;
	u64 inode_number = 0, head[2] = {}, hash;
	u32 device = 0, flags = 0, special = 0;
	u16 mode = 0;
	if (!d || number >= table->max_fds) return 0;
	probe_read_kernel(&file, sizeof file, table->fd + number);
	if (!file) return 0;
	struct inode *inode = inode_of(file);
	probe_read_kernel(&inode_number, sizeof inode_number, &inode->i_ino);
	probe_read_kernel(&of, sizeof of, &inode->i_sb);
	probe_read_kernel(&device, sizeof device, &of->s_dev);
	probe_read_kernel(&dentry, sizeof dentry, &file->f_path.dentry);
	probe_read_kernel(&text, sizeof text, &dentry->d_name.name);
	probe_read_kernel_str(head, sizeof head, text);
	hash = mix(mix(mix(mix(device, inode_number), head[0]), head[1]), 0);
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	probe_read_kernel(&mode, sizeof mode, &inode->i_mode);
	probe_read_kernel(&flags, sizeof flags, &inode->i_flags);
	probe_read_kernel(&special, sizeof special, &inode->i_rdev);
	d->name.inode = inode_number;
	d->name.device = device;
	d->name.kind = kind_of_inode(mode, flags, special);
	note_parts(d, dentry);
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

INLINE u32 size_class(u64 size)
{
	return size ? log2_of(size) + 1 : 0;
}
