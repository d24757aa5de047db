//! An ssh server of the test's own, on the loopback address: its own keys, its own configuration, a port nobody else has.

use crate::common::*;
use std::net::{TcpListener, TcpStream};

/// A running server. Dropping it ends it.
pub struct Server {
    _server: Job,
    port: u16,
    place: String,
}

const SERVER: &str = "/usr/sbin/sshd";

impl Server {
    /// Starts one in `place`; the error says why there can be none here.
    pub fn start(place: &Place) -> Result<Server, String> {
        if !Path::new(SERVER).exists() || Command::new("ssh").arg("-V").output().is_err() {
            return Err("there is no ssh or no sshd".to_string());
        }
        let at = place.path().display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(format!("{at}/{key}"))
                .status();
            if !made.is_ok_and(|status| status.success()) {
                return Err("ssh-keygen made no key".to_string());
            }
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\n\
             UsePAM no\nPidFile none\nMaxStartups 200\nPermitRootLogin yes\nPasswordAuthentication no\n"
        );
        fs::write(format!("{at}/sshd_config"), config).unwrap();
        // Where a server that runs as root wants to be locked in; it is there wherever ssh has ever been started.
        let _ = fs::create_dir("/run/sshd");
        let log = fs::File::create(format!("{at}/sshd.log")).unwrap();
        let mut command = Command::new(SERVER);
        command
            .args(["-D", "-e", "-f", &format!("{at}/sshd_config")])
            .stdin(Stdio::null())
            .stderr(log)
            .process_group(0);
        let server = Job::of(command.spawn().map_err(|e| e.to_string())?);
        let server = Server {
            _server: server,
            port,
            place: at,
        };
        let answers = wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
        if answers.is_none() || !server.lets_in() {
            return Err(format!("sshd lets nobody in: {}", server.said()));
        }
        Ok(server)
    }

    pub fn ssh(&self) -> String {
        let Server { port, place, .. } = self;
        format!(
            "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile={place}/known -o LogLevel=ERROR \
             -i {place}/user -p {port} 127.0.0.1"
        )
    }

    fn lets_in(&self) -> bool {
        let ssh = self.ssh();
        let mut words = ssh.split(' ');
        let done = Command::new(words.next().unwrap())
            .args(words)
            .arg("true")
            .status();
        done.is_ok_and(|status| status.success())
    }

    fn said(&self) -> String {
        let log = fs::read_to_string(format!("{}/sshd.log", self.place)).unwrap_or_default();
        log.lines().next_back().unwrap_or("nothing").to_string()
    }
}
