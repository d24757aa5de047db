/* What calls are made on: paths, and what descriptors refer to. */
#pragma once
#include "arguments.h"
#include "sockets.h"

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

/* A descriptor of the running task; null if it is not open. */
INLINE struct file *file_of(struct task_struct *current, u32 number)
{
	struct fdtable *table = plain(current)->files->fdt;
	struct file *file = 0;
	if (number < table->max_fds) probe_read_kernel(&file, sizeof file, table->fd + number);
	return file;
}

INLINE struct dentry *name_of(struct file *file)
{
	struct dentry *dentry = 0;
	probe_read_kernel(&dentry, sizeof dentry, &file->f_path.dentry);
	return dentry;
}

INLINE struct dentry *dentry_of(struct task_struct *current, u32 number)
{
	return name_of(file_of(current, number));
}

/* Whether a name is that of a socket that had no peer then: it may have one now. */
INLINE int may_connect(struct name *name)
{
	return name->kind == KIND_SOCKET && ((struct address *)name->text)->own == OWN;
}

/* The hash of a file, whose name is noted; 0 of none. The first bytes of the name are part of the hash, because all
 * anonymous files share an inode. A socket, of which `file` is given, has an address in place of a name. */
INLINE u64 note_file(struct window *w, struct dentry *dentry, struct file *file)
{
	struct name *known;
	struct details *d = these_details();
	struct inode *inode = 0;
	struct super_block *of = 0;
	const unsigned char *text = 0;
	u64 inode_number = 0, head[2] = {}, hash;
	u32 device = 0, flags = 0, special = 0;
	u16 mode = 0;
	if (!d || !dentry) return 0;
	probe_read_kernel(&inode, sizeof inode, &dentry->d_inode);
	probe_read_kernel(&inode_number, sizeof inode_number, &inode->i_ino);
	probe_read_kernel(&of, sizeof of, &inode->i_sb);
	probe_read_kernel(&device, sizeof device, &of->s_dev);
	probe_read_kernel(&text, sizeof text, &dentry->d_name.name);
	probe_read_kernel_str(head, sizeof head, text);
	hash = mix(mix(mix(mix(device, inode_number), head[0]), head[1]), 0);
	hash = forget(w, hash | 1);
	known = map_lookup(&names, &hash);
	if (known && !may_connect(known)) return hash;
	probe_read_kernel(&mode, sizeof mode, &inode->i_mode);
	probe_read_kernel(&flags, sizeof flags, &inode->i_flags);
	probe_read_kernel(&special, sizeof special, &inode->i_rdev);
	d->name.inode = inode_number;
	d->name.directory = 0;
	d->name.device = device;
	d->name.kind = kind_of_inode(mode, flags, special);
	if (d->name.kind == KIND_SOCKET && file) note_address((struct address *)d->name.text, file);
	else note_parts(d, dentry);
	map_update(&names, &hash, &d->name, UPDATE_ANY);
	return hash;
}

INLINE u64 note_descriptor(struct window *w, struct task_struct *current, u32 number)
{
	struct file *file = file_of(current, number);
	return note_file(w, name_of(file), file);
}

/* The root of the running task as part of a hash: the same absolute path below another root is another object. */
INLINE u64 hash_of_root(struct task_struct *current)
{
	struct inode *root = plain(current)->fs->root.dentry->d_inode;
	return mix(root->i_sb->s_dev, root->i_ino);
}

/* The hash of the path of `length` bytes in w->path, which names_in() has seen, with the directory that it is relative
 * to; their names are noted. An empty path is a call on that directory, or whatever file it is: an object only where
 * descriptors are. 0 for none. */
INLINE u64 note_path(struct window *w, struct task_struct *current, struct dentry *directory, long length)
{
	struct details *d = these_details();
	u64 hash, relative = 0;
	/* names_in() left it with as many ranges as its loop has ends. */
	length = forget(w, length);
	if (!d || length < 1 || length > PATH_BYTES) return 0;
	if (length == 1 ? !config.descriptors : !config.paths) return 0;
	if (length == 1 || w->path[0] != '/') {
		relative = note_file(w, directory, 0);
		if (!relative || length == 1) return relative;
	}
	hash = forget(w, mix(relative ? relative : hash_of_root(current), length));
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PATH_BYTES; at += PIECE_BYTES) {
		if (at >= length - 1) break;
#pragma clang loop unroll(full)
		for (u32 next = 0; next < PIECE_WORDS; next++) hash = mix(hash, ((u64 *)(w->path + at))[next]);
	}
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	w->path[bounded(length - 1)] = 0;
	d->name.inode = d->name.device = d->name.kind = 0;
	d->name.directory = relative;
	d->name.length = length;
	probe_read_kernel_str(d->name.text, TEXT_BYTES, w->path);
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

#define AT_FDCWD -100
#define ENOENT 2
#define EFAULT 14

/* The descriptor of the directory that a call's path is relative to. */
INLINE s32 directory_of(struct pt_regs *regs, u32 gate, u32 position)
{
	return position < 6 ? argument_of(regs, gate, position) : AT_FDCWD;
}

/* The same for a call that has returned, whose path is `argument`, relative to the descriptor `from`. */
INLINE u64 note_path_of(struct window *w, struct task_struct *current, const volatile struct row *row, s32 from,
			u64 argument, u32 error, long length)
{
	struct dentry *directory;
	/* A null pointer is an empty path to calls that take one. */
	if (!argument) length = 1;
	length = forget(w, length);
	if (length == 1 && (error == ENOENT || error == EFAULT)) return 0;
	if (row->directory == NEW_DIRECTORY && !error && w->path[0] != '/') {
		/* What it was relative to is gone; what it led to is the working directory now. */
		fill_piece(w->path);
		w->path[0] = '.';
		length = 2;
	}
	directory = from == AT_FDCWD ? plain(current)->fs->pwd.dentry : dentry_of(current, from);
	return note_path(w, current, directory, length);
}

INLINE u32 size_class(u64 size)
{
	return size ? log2_of(size) + 1 : 0;
}
