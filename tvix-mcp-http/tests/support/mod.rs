//! Drives the server as a client does: bytes over loopback.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test binary uses a part of this"
)]
#![allow(clippy::panic, reason = "what fails shows what came")]

mod client;
mod inside;
mod process;

pub use client::{Answer, Connection};
pub use inside::{Inside, TestAuth, bearer};
pub use process::{Process, program};

use serde_json::{Value, json};

/// A request of the older revisions.
pub fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A call of a tool.
pub fn tool(name: &str, arguments: &Value) -> Value {
    rpc("tools/call", &json!({"name": name, "arguments": arguments}))
}
