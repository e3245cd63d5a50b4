//! The binary, as a process of its own.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread::JoinHandle,
};

/// The program, with none of the settings of the machine it runs on.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tvix-mcp-http"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TVIX_") {
            command.env_remove(name);
        }
    }
    command.arg("--data").arg(folder);
    command
}

/// A running server without authentication.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    /// Reads what it logs, to the end.
    log: JoinHandle<String>,
}

impl Process {
    /// Starts a server in `folder` on any port.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        Self::start_on(folder, "127.0.0.1:0", flags)
    }

    /// Starts a server in `folder` that listens on `listen`.
    pub fn start_on(folder: &Path, listen: &str, flags: &[&str]) -> Self {
        let mut all = vec!["--auth-mode", "none", "--listen", listen];
        all.extend(flags);
        Self::start_with(folder, &all)
    }

    /// Starts a server in `folder` with these flags alone.
    pub fn start_with(folder: &Path, flags: &[&str]) -> Self {
        let mut command = program(folder);
        command.args(flags);
        let spawned =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.expect("the binary starts");
        let (found, address) = mpsc::channel();
        let stderr = child.stderr.take().expect("piped");
        let log = std::thread::spawn(move || follow(stderr, &found));
        let address = address.recv().expect("the server says where it listens");
        Self { child, address, log }
    }

    /// Runs the binary to its end.
    pub fn run(folder: &Path, flags: &[&str]) -> Output {
        program(folder).args(flags).stdin(Stdio::null()).output().expect("the binary starts")
    }

    /// The identifier of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, as a service manager does.
    #[cfg(unix)]
    pub fn terminate(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let sent =
            rustix::process::kill_process(pid.expect("a pid"), rustix::process::Signal::TERM);
        sent.expect("the server runs");
    }

    /// Waits for its end; returns how it ended and what it logged.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("ended");
        (status, self.log.join().expect("the log was read"))
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("it ran");
        self.child.wait().expect("gone");
    }
}

fn follow(stderr: ChildStderr, found: &mpsc::Sender<SocketAddr>) -> String {
    let (mut reader, mut log) = (BufReader::new(stderr), String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return log;
        }
        let address = line.rsplit("address=").next().filter(|rest| rest.len() < line.len());
        if let Some(address) = address.and_then(|address| address.trim().parse().ok()) {
            // The receiver goes once it knows.
            let _ = found.send(address);
        }
        log += &line;
    }
}
