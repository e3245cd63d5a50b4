//! The tool cases through the binary.

mod support;

use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;
use support::Server;
use tvix_core::conformance::cases::{self, Caller, Outcome};

struct Stdio(Server);

#[async_trait]
impl Caller for Stdio {
    async fn call(&mut self, tool: &str, args: Value) -> Outcome {
        let params = cases::mcp_params(tool, &args);
        let answer = self.0.request("tools/call", &params);
        Outcome::of_mcp(&answer["result"]).expect("an answer")
    }
}

#[tokio::test]
async fn every_case_holds_over_stdio() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tvix-core/tests/cases");
    let mut problems = Vec::new();
    for case in cases::load(&folder).expect("cases") {
        let place = tempfile::tempdir().expect("folder");
        let mut caller = Stdio(Server::start(&place.path().join("data"), "cases"));
        problems.extend(case.run(&mut caller).await.err());
        assert!(caller.0.close().success());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
