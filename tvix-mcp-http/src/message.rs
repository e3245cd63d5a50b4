//! The body of a request, looked at before it is handed on.

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use http_body_util::BodyExt;
use serde_json::Value;

use crate::{
    config::Limits,
    refusal::{PARSE_ERROR, Refusal},
};

/// How many times the limit is read and thrown away of a body that is too large, so that its sender
/// gets to read the answer.
const PATIENCE: usize = 4;

/// Reads a whole body.
pub(crate) async fn body(body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let read = tokio::time::timeout(limits.read, collect(body, limits.body)).await;
    let late = |_| {
        Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time; send it at once",
        )
    };
    read.map_err(late)?
}

async fn collect(mut body: Body, max: usize) -> Result<Bytes, Refusal> {
    let (mut collected, mut total) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let broken = |_| Refusal::new(StatusCode::BAD_REQUEST, "the body broke off; send it whole");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        total += data.len();
        if total > PATIENCE * max {
            break;
        }
        if total <= max {
            collected.extend_from_slice(&data);
        } else {
            collected = Vec::new();
        }
    }
    if total > max {
        let message = format!("the body is too large; send at most {max} bytes");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(collected.into())
}

/// One JSON-RPC message.
#[derive(Debug)]
pub(crate) struct Message(Value);

impl Message {
    /// Reads a message. Whether it is one of MCP is not looked at.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let bad = |message| Refusal::new(StatusCode::BAD_REQUEST, message);
        match serde_json::from_slice(bytes) {
            Ok(message @ Value::Object(_)) => Ok(Self(message)),
            Ok(Value::Array(_)) => {
                Err(bad("Invalid Request: a batch came, send one JSON-RPC message at a time"))
            }
            Ok(_) => Err(bad("Invalid Request: send a JSON-RPC message, an object")),
            Err(_) => Err(bad("Parse error: the body is not JSON").with_code(PARSE_ERROR)),
        }
    }

    /// Its method; blank for an answer.
    pub(crate) fn method(&self) -> &str {
        self.0["method"].as_str().unwrap_or_default()
    }

    /// The name of the tool or prompt; blank if it names none.
    pub(crate) fn name(&self) -> &str {
        self.0["params"]["name"].as_str().unwrap_or_default()
    }

    /// Its identifier; null for a notification.
    pub(crate) fn id(&self) -> &Value {
        &self.0["id"]
    }

    /// Whether it says itself which client sent it, as messages of 2026-07-28 do.
    pub(crate) fn names_client(&self) -> bool {
        self.0["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"].is_string()
    }

    /// The message as bytes: what was looked at here is what runs, where the original could have said a
    /// key twice.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.0.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_key_that_comes_twice_one_is_looked_at_and_handed_on() {
        let twice =
            br#"{"method":"tools/call","params":{"name":"search_wiki","name":"delete_wiki"}}"#;
        let message = Message::read(twice).expect("a message");
        assert_eq!((message.method(), message.name()), ("tools/call", "delete_wiki"));
        assert!(!String::from_utf8_lossy(&message.into_bytes()).contains("search_wiki"));
    }
}
