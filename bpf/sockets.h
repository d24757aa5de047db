/* The addresses of sockets. */
#pragma once
#include "maps.h"

/* Address families of linux/socket.h. */
#define UNIX 1
/* Of `address.own`. */
enum { OWN = 1, ACCEPTED = 2 };
#define INET 2
#define INET6 10

/* The path that a Unix socket is bound to. */
INLINE int note_unix(struct address *to, struct unix_sock *of)
{
	struct unix_address *address = 0;
	s32 length = 0;
	probe_read_kernel(&address, sizeof address, &of->addr);
	if (!address) return 0;
	probe_read_kernel(&length, sizeof length, &address->len);
	to->length = length - sizeof to->family;
	probe_read_kernel(to->bytes, sizeof address->name[0].sun_path, &address->name[0].sun_path);
	return 1;
}

/* Of a Unix socket, the path that the peer is bound to, or it is itself, as the sockets that accept returns. */
INLINE void note_unix_peer(struct address *to, struct unix_sock *of)
{
	struct sock *peer = 0;
	if (!FIELD_EXISTS(of->peer)) return;
	probe_read_kernel(&peer, sizeof peer, &of->peer);
	if (peer && note_unix(to, (void *)peer)) return;
	if (note_unix(to, of)) to->own = peer ? ACCEPTED : OWN;
	else to->own = !peer;
}

/* The address of a Unix socket that was accepted is that of the one that listens, and its peer has none. */
INLINE int is_accepted_unix(struct unix_sock *of)
{
	struct unix_address *own = 0, *other = 0;
	struct sock *peer = 0;
	if (!FIELD_EXISTS(of->peer)) return 0;
	probe_read_kernel(&own, sizeof own, &of->addr);
	probe_read_kernel(&peer, sizeof peer, &of->peer);
	if (!own || !peer) return 0;
	probe_read_kernel(&other, sizeof other, &((struct unix_sock *)peer)->addr);
	return !other;
}

/* Whether a connection was accepted: a copy of the socket that listens, with the length of its queue. */
INLINE int is_accepted(struct sock *of)
{
	u16 family = 0, port = 0;
	u32 most = 0;
	probe_read_kernel(&family, sizeof family, &of->__sk_common.skc_family);
	if (family == UNIX) return is_accepted_unix((void *)of);
	if (family != INET && family != INET6) return 0;
	probe_read_kernel(&port, sizeof port, &of->__sk_common.skc_dport);
	probe_read_kernel(&most, sizeof most, &of->sk_max_ack_backlog);
	return port && most;
}

INLINE struct sock *sock_of(struct file *file)
{
	struct socket *socket = 0;
	struct sock *of = 0;
	probe_read_kernel(&socket, sizeof socket, &file->private_data);
	probe_read_kernel(&of, sizeof of, &socket->sk);
	return of;
}

INLINE void note_internet_peer(struct address *to, struct sock_common *of)
{
	u16 port = 0;
	probe_read_kernel(&to->port, sizeof to->port, &of->skc_dport);
	to->own = !to->port ? OWN : is_accepted((void *)of) ? ACCEPTED : 0;
	if (to->own) {
		probe_read_kernel(&port, sizeof port, &of->skc_num);
		to->port = port << 8 | port >> 8;
	}
	if (to->family == INET)
		probe_read_kernel(to->bytes, 4, to->own ? &of->skc_rcv_saddr : &of->skc_daddr);
	else if (FIELD_EXISTS(of->skc_v6_daddr))
		probe_read_kernel(to->bytes, 16, to->own ? &of->skc_v6_rcv_saddr : &of->skc_v6_daddr);
}

/* Of a socket's peer, or its own: see struct address. */
INLINE void note_address(struct address *to, struct file *file)
{
	struct sock *of = sock_of(file);
	__builtin_memset(to, 0, sizeof *to);
	probe_read_kernel(&to->family, sizeof to->family, &of->__sk_common.skc_family);
	if (to->family == UNIX) note_unix_peer(to, (void *)of);
	else if (to->family == INET || to->family == INET6) note_internet_peer(to, &of->__sk_common);
}
