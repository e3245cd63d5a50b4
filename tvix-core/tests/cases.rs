//! The tool cases through the library: in memory, and in a folder.

use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;
use tvix_core::{
    Tvix,
    conformance::cases::{self, Caller, Outcome},
    tools::{CallContext, Service, ServiceError},
};

/// The library, which also checks that every answer fits the tool's output schema.
struct Library(Tvix);

impl Library {
    async fn fits(&self, tool: &str, structured: &Value) {
        let definitions = self.0.tools(&CallContext::default()).await.expect("tools");
        let found = definitions.iter().find(|definition| definition.name == tool).expect(tool);
        let schema = jsonschema::validator_for(&found.output_schema).expect("a schema");
        let problems: Vec<String> =
            schema.iter_errors(structured).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{tool}: {structured}: {problems:?}");
    }
}

#[async_trait]
impl Caller for Library {
    async fn call(&mut self, tool: &str, args: Value) -> Outcome {
        match self.0.call(&CallContext::default(), tool, args).await {
            Ok(reply) => {
                self.fits(tool, &reply.structured).await;
                Outcome { text: reply.text, structured: reply.structured, error: None }
            }
            Err(ServiceError::Failed(error)) => Outcome {
                text: error.to_string(),
                structured: Value::Null,
                error: Some(error.report()),
            },
            Err(other) => unreachable!("no case calls an unknown tool: {other}"),
        }
    }
}

async fn run_all(open: impl Fn() -> Tvix) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let cases = cases::load(&folder).expect("cases");
    assert!(cases.len() >= 9, "only {} cases were found", cases.len());
    let mut problems = Vec::new();
    for case in cases {
        problems.extend(case.run(&mut Library(open())).await.err());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[tokio::test]
async fn every_case_holds_in_memory() {
    run_all(Tvix::in_memory).await;
}

#[cfg(feature = "local")]
#[tokio::test]
async fn every_case_holds_in_a_folder() {
    let place = tempfile::tempdir().expect("folder");
    run_all(|| {
        let name = tvix_core::types::Id::new().to_string();
        Tvix::open(place.path().join(name)).expect("opened")
    })
    .await;
}
