//! The tool cases over HTTP.

mod support;

use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;
use support::{Connection, Process, rpc};
use tvix_core::conformance::cases::{self, Caller, Outcome};

struct Http(Connection);

#[async_trait]
impl Caller for Http {
    async fn call(&mut self, tool: &str, args: Value) -> Outcome {
        let params = cases::mcp_params(tool, &args);
        let answer = self.0.post(&rpc("tools/call", &params)).json();
        Outcome::of_mcp(&answer["result"]).expect("an answer")
    }
}

#[tokio::test]
async fn every_case_holds_over_http() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tvix-core/tests/cases");
    let mut problems = Vec::new();
    for case in cases::load(&folder).expect("cases") {
        let place = tempfile::tempdir().expect("folder");
        let server = Process::start(place.path(), &[]);
        let client = Connection::open(server.address).with("User-Agent", "cases");
        problems.extend(case.run(&mut Http(client)).await.err());
        server.kill();
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
