//! Drives the binary as a client does: JSON lines on its stdin and stdout.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of this")]

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio},
};

use serde_json::{Value, json};

/// The program, with a data folder and no settings of the machine it runs on.
pub fn program(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tvix-mcp-stdio"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TVIX_") {
            command.env_remove(name);
        }
    }
    command.env("TVIX_HOME", data);
    command
}

/// Runs a command of the binary to its end.
pub fn run(data: &Path, args: &[&str]) -> Output {
    program(data).args(args).stdin(Stdio::null()).output().expect("the binary starts")
}

/// A running server, after the handshake.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts a server on `data` and shakes hands as the client `name`.
    pub fn start(data: &Path, name: &str) -> Self {
        Self::try_start(data, name).expect("the server shakes hands")
    }

    /// Like [`start`](Self::start); `None` when the server ends in the handshake.
    pub fn try_start(data: &Path, name: &str) -> Option<Self> {
        let mut server = Self::spawn(&mut program(data));
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": name, "version": "1"},
        });
        let Some(answer) = server.try_request("initialize", &hello) else {
            server.kill();
            return None;
        };
        assert!(answer["result"].is_object(), "{answer}");
        let ready = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        // A server that has gone is noticed by the next request.
        let _ = server.stdin.as_mut().map(|stdin| stdin.write_all(ready.as_bytes()));
        Some(server)
    }

    /// Starts `command` without a handshake.
    pub fn spawn(command: &mut Command) -> Self {
        let spawned =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let stdin = child.stdin.take();
        Self { child, stdin, stdout, next: 0 }
    }

    /// Writes one message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Writes bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.try_request(method, params);
        assert!(answer.is_some(), "the server ended: {:?}", self.child.try_wait());
        answer.unwrap_or_default()
    }

    /// Like [`request`](Self::request); `None` when the server ends before it answers.
    pub fn try_request(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let stdin = self.stdin.as_mut()?;
        stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush()).ok()?;
        loop {
            let message = self.read()?;
            if message["id"] == id {
                return Some(message);
            }
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).ok()?;
        // A line that was cut by a crash has no end.
        let whole = read > 0 && line.ends_with('\n');
        whole.then(|| serde_json::from_str(&line).expect("only messages on stdout"))
    }

    /// Calls a tool and returns its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed and returns the structure of its answer.
    pub fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}({arguments}): {result}");
        result["structuredContent"].clone()
    }

    /// The identifier of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        self.child.wait().expect("gone");
    }

    /// Closes its stdin and waits for its end.
    pub fn close(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().expect("ended")
    }

    /// Reads all that it still says, with its stdin open, and waits for its end.
    pub fn drain(mut self) -> (Vec<Value>, ExitStatus) {
        let answers = std::iter::from_fn(|| self.read()).collect();
        (answers, self.child.wait().expect("ended"))
    }
}
