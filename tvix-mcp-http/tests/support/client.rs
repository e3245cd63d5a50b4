//! HTTP/1.1 by hand: tests must be able to send what no library would.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

use super::tool;

/// Longer than any answer takes: a test that waits for it has failed.
const HANG: Duration = Duration::from_mins(1);

/// One connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
    /// Sent with every request.
    headers: Vec<(String, String)>,
}

/// One answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// The value of a header; blank if it is absent.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        Self::try_open(address).expect("the server takes connections")
    }

    pub fn try_open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(HANG))?;
        stream.set_write_timeout(Some(HANG))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), headers: Vec::new() })
    }

    /// Adds a header to every request from here on.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a JSON-RPC message to `/mcp`.
    pub fn post(&mut self, message: &Value) -> Answer {
        self.post_with(&[], message)
    }

    /// The same with headers of this request alone.
    pub fn post_with(&mut self, headers: &[(&str, &str)], message: &Value) -> Answer {
        let usual = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let replaced =
            |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let usual = usual.into_iter().filter(|(name, _)| !replaced(name));
        let all: Vec<_> = usual.chain(headers.iter().copied()).collect();
        self.send("POST", "/mcp", &all, message.to_string().as_bytes())
    }

    /// Calls a tool and returns the result.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.post(&tool(name, arguments));
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let result = answer.json()["result"].clone();
        assert!(result.is_object(), "{name}: {answer:?}");
        result
    }

    /// Calls a tool that must succeed and returns the structure of its answer.
    pub fn ok(&mut self, name: &str, arguments: &Value) -> Value {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], true, "{name}({arguments}): {result}");
        result["structuredContent"].clone()
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Any request whatever.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        // Head and body at once: a server that refuses by the head alone keeps the connection only if the
        // body is there already.
        self.write(&[&self.head(method, path, headers, body.len()), body].concat());
        self.read().expect("an answer")
    }

    /// The head of a request with a body of `length` bytes.
    pub fn head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: usize,
    ) -> Vec<u8> {
        let named = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let host = if named("Host") { "" } else { "Host: localhost\r\n" };
        let mut head = format!("{method} {path} HTTP/1.1\r\n{host}Content-Length: {length}\r\n");
        let all = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in all.chain(headers.iter().copied()) {
            head += &[name, ": ", value, "\r\n"].concat();
        }
        head += "\r\n";
        head.into_bytes()
    }

    /// Writes bytes as they are; a peer that has gone is noticed when its answer is read.
    pub fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Reads one answer.
    pub fn read(&mut self) -> io::Result<Answer> {
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let status = self.line()?.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut answer =
            Answer { status: status.ok_or_else(broken)?, headers: Vec::new(), body: String::new() };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            answer.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let length = answer.header("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(answer)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
