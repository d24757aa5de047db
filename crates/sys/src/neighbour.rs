//! Detects other runs that measure on the same CPU at the same time.
//!
//! A run that measures on CPU N takes the abstract socket name `syscost-cpu-N` (unix(7)); one that finds it taken sends its owner
//! an empty datagram, so that both know. Such a name is the same for all users, needs no file that another user could have
//! planted, and disappears with its process. The worst that another program can do with it is to cause a needless warning. Runs
//! in other network namespaces (containers) are not seen.

use std::io::ErrorKind;
use std::os::unix::net::{SocketAddr, UnixDatagram};

fn abstract_name(name: &str) -> Option<SocketAddr> {
    <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name).ok()
}

pub struct Claim {
    name: Option<SocketAddr>,
    socket: Option<UnixDatagram>,
    pub met: bool,
}

impl Claim {
    /// Looks once whether another run has it. Without a CPU, no other run is ever met.
    pub fn to(cpu: Option<u32>) -> Claim {
        let mut claim = Claim {
            name: cpu.and_then(|cpu| abstract_name(&format!("syscost-cpu-{cpu}"))),
            socket: None,
            met: false,
        };
        claim.look();
        claim
    }

    /// Looks for other runs: those that sent a datagram, or the one that owns the name. If that one has ended, takes
    /// the name.
    pub fn look(&mut self) {
        let Some(name) = &self.name else { return };
        let Some(socket) = &self.socket else {
            match UnixDatagram::bind_addr(name) {
                Ok(socket) => {
                    self.socket = socket.set_nonblocking(true).is_ok().then_some(socket);
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    self.met = true;
                    call(name);
                }
                Err(_) => (),
            }
            return;
        };
        self.met |= socket.recv(&mut [0]).is_ok();
    }
}

/// Sends the owner of the name a datagram. Errors do not matter: an owner whose queue is full has been told already.
fn call(name: &SocketAddr) {
    let sent = UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to_addr(&[], name)
    });
    let _ = sent;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(i: u32) -> Option<u32> {
        Some(u32::MAX - std::process::id() * 4 - i)
    }

    #[test]
    fn both_know_of_each_other() {
        let mut first = Claim::to(nowhere(0));
        assert!(!first.met);
        let second = Claim::to(nowhere(0));
        assert!(second.met);
        drop(second);
        first.look();
        assert!(first.met, "also after the other has ended");
    }

    #[test]
    fn a_name_that_becomes_free_is_taken() {
        let first = Claim::to(nowhere(1));
        let mut second = Claim::to(nowhere(1));
        drop(first);
        second.look();
        let third = Claim::to(nowhere(1));
        assert!(third.met);
    }
}
