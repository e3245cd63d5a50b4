//! `demo`: what Tvix is, in thirty seconds, through the tools that agents call.

use serde_json::{Value, json};
use tvix_core::{
    Error, Result, Tvix,
    tools::{CallContext, Service, ServiceError},
    types::Source,
};

use crate::output::Output;

/// Content, project, event time.
const MEMORIES: &[(&str, &str, &str)] = &[
    ("Prefers short answers with the conclusion first", "", ""),
    ("Writes commit messages in the imperative, without a scope prefix", "", ""),
    ("Is allergic to peanuts", "", ""),
    ("Lives in Lisbon and works from 8 to 16 local time", "", ""),
    (
        "Decided to use redb for the embedded store because it really syncs",
        "acme rewrite",
        "2026-03-02",
    ),
    (
        "The billing migration failed on staging: a missing index on invoices",
        "acme rewrite",
        "2026-03-09",
    ),
    (
        "Release v2.4.7 of the gateway fixed the timeout in max_retry_count",
        "acme rewrite",
        "2026-03-16",
    ),
    ("Deploys happen on Tuesdays, never on Fridays", "acme rewrite", ""),
    ("The sourdough starter is fed at nine in the evening", "bakery", "2026-04-11"),
    ("Rye bread came out too dense with 80 % hydration", "bakery", "2026-04-12"),
    ("Café in the Rua da Prata sells the good flour", "bakery", ""),
    ("会议改到星期三下午", "", ""),
];

/// Title, content, project.
const DOCUMENTS: &[(&str, &str, &str)] = &[
    (
        "Deploy runbook",
        "# Deploy\n\n1. Freeze merges.\n2. Run `deploy --canary` and watch the error rate for ten minutes.\n\
         3. Roll back with `deploy --undo` if it rises above 1 %.",
        "Acme",
    ),
    ("Gateway settings", "`max_retry_count` is 7 and `timeout_ms` is 2500 in production.", "Acme"),
    (
        "Sourdough ratios",
        "Starter, water and flour are mixed 1 : 2 : 2. At 24 °C it peaks after five hours.",
        "",
    ),
];

/// A search, and what it shows.
const SEARCHES: &[(&str, &str)] = &[
    ("by meaning, without a word in common", r#"{"query": "any food allergies?", "limit": 1}"#),
    ("by word, in any order and form", r#"{"query": "staging migrations failing", "limit": 2}"#),
    ("by part of a version or an identifier", r#"{"query": "retry 2.4.7", "limit": 1}"#),
    ("without accents", r#"{"query": "cafe flour", "limit": 1}"#),
    ("by one Chinese word", r#"{"query": "下午", "limit": 1}"#),
    (
        "by project and date",
        r#"{"query": "", "project": "Acme Rewrite", "date_from": "2026-03-01", "date_to": "2026-03-10"}"#,
    ),
];

/// Runs the demo in a folder of its own, which is gone afterwards.
pub(crate) async fn run(output: &Output) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("tvix-demo-{}", std::process::id()));
    let done = show(&folder, output).await;
    // The folder is in the system's temporary directory: what cannot be removed is swept there.
    let _ = std::fs::remove_dir_all(&folder);
    done
}

async fn show(folder: &std::path::Path, output: &Output) -> Result<()> {
    let mut demo = Demo {
        tvix: Tvix::open(folder)?,
        context: CallContext::new(Source::named("Demo")),
        lines: Vec::new(),
        calls: Vec::new(),
    };
    demo.store().await?;
    demo.search().await?;
    demo.lines.push("Next: connect your agent (see --help), or embed tvix-core.".to_owned());
    output.print(&json!({"calls": demo.calls}), &demo.lines.join("\n"))
}

struct Demo {
    tvix: Tvix,
    context: CallContext,
    lines: Vec<String>,
    calls: Vec<Value>,
}

impl Demo {
    async fn store(&mut self) -> Result<()> {
        for (content, project, event_time) in MEMORIES {
            let metadata =
                if event_time.is_empty() { Value::Null } else { json!({"event_time": event_time}) };
            let arguments = json!({"content": content, "project": project, "metadata": metadata});
            self.call("add_memory", arguments).await?;
        }
        for (title, content, project) in DOCUMENTS {
            let arguments = json!({"title": title, "content": content, "project": project});
            self.call("add_wiki", arguments).await?;
        }
        let (memories, documents) = (MEMORIES.len(), DOCUMENTS.len());
        self.lines.push(format!(
            "An agent stored {memories} memories with add_memory and {documents} documents with add_wiki.\n\
             Each was on disk, synced, before the call returned.\n"
        ));
        Ok(())
    }

    async fn search(&mut self) -> Result<()> {
        for (what, arguments) in SEARCHES {
            let arguments = serde_json::from_str(arguments)
                .map_err(|error| Error::backend("the demo", error))?;
            self.shown("search_memory", what, arguments).await?;
        }
        let arguments = json!({"query": "how do I roll back a deploy", "limit": 1});
        self.shown("search_wiki", "reference documents come whole", arguments).await
    }

    async fn shown(&mut self, tool: &str, what: &str, arguments: Value) -> Result<()> {
        self.lines.push(format!("── {what}\n$ {tool} {arguments}"));
        let text = self.call(tool, arguments).await?;
        self.lines.push(format!("{text}\n"));
        Ok(())
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let answer = self.tvix.call(&self.context, tool, arguments.clone()).await;
        let reply = answer.map_err(|error| match error {
            ServiceError::Failed(error) => error,
            other => Error::backend("the demo", other),
        })?;
        self.calls.push(json!({"tool": tool, "arguments": arguments, "answer": reply.structured}));
        Ok(reply.text)
    }
}
