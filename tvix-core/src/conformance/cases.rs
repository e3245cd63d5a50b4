//! Tool cases: scripts of calls with what they must answer, the same for every transport.
//!
//! A case is a JSON file, `{"why", "steps": [{"tool", "args", "save", "expect", "text", "error"}]}`:
//!
//! - `args` are sent as they stand; a text `$name` stands for a value saved before.
//! - `save` keeps values of the answer: `{"name": "/json/pointer"}`.
//! - `expect` is a pattern for the structure: objects must hold its keys, lists must have its length,
//!   `"$any"` matches anything, `"$absent"` a key that must not be there.
//! - `text` lists what the text must contain.
//! - `error` says that the call fails: its `kind` and `field`, and what its text must contain.

use std::{collections::HashMap, fs, path::Path};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ErrorReport;

/// A way to call tools: the library, or an adapter.
#[async_trait]
pub trait Caller: Send {
    /// Calls `tool` with `args`.
    async fn call(&mut self, tool: &str, args: Value) -> Outcome;
}

/// What a call came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The text of the answer, or of the error.
    pub text: String,
    /// The structure of the answer; null for an error.
    pub structured: Value,
    /// What failed.
    pub error: Option<ErrorReport>,
}

impl Outcome {
    /// Reads the result of a `tools/call` of MCP.
    ///
    /// # Errors
    /// What is no such result, or says in one place that the call failed and in another that it did not.
    pub fn of_mcp(result: &Value) -> Result<Self, String> {
        let wrong = |what: &str| format!("{what}: {result}");
        let error = result.pointer("/_meta/tvix~1error");
        if !result.is_object() || error.is_some() != (result["isError"] == true) {
            return Err(wrong("no result of a tool"));
        }
        let error = error.map(|error| serde_json::from_value(error.clone())).transpose();
        let text = result["content"][0]["text"].as_str().ok_or_else(|| wrong("no text"))?;
        Ok(Self {
            text: text.to_owned(),
            structured: result["structuredContent"].clone(),
            error: error.map_err(|error| wrong(&format!("no error report: {error}")))?,
        })
    }
}

/// The parameters of a `tools/call` of MCP; missing arguments are sent as missing.
pub fn mcp_params(tool: &str, args: &Value) -> Value {
    if args.is_null() { json!({"name": tool}) } else { json!({"name": tool, "arguments": args}) }
}

/// A script of calls.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of its file, without ending.
    #[serde(skip)]
    pub name: String,
    /// What a user would complain of if it failed.
    pub why: String,
    /// The calls, in order, on a store that is empty at first.
    pub steps: Vec<Step>,
}

/// One call and what it must answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    save: HashMap<String, String>,
    #[serde(default)]
    expect: Value,
    #[serde(default)]
    text: Vec<String>,
    error: Option<ExpectedError>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    kind: crate::ErrorKind,
    field: Option<String>,
    #[serde(default)]
    text: Vec<String>,
}

/// The cases in the JSON files of `folder`, by name.
///
/// # Errors
/// A sentence that names the file that cannot be read.
pub fn load(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut cases: Vec<Case> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| read(&path))
        .collect::<Result<_, _>>()?;
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn read(path: &Path) -> Result<Case, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let mut case: Case =
        serde_json::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
    case.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(case)
}

impl Case {
    /// Runs the case.
    ///
    /// # Errors
    /// A sentence that names the case, the step, what came and what was expected.
    pub async fn run(&self, caller: &mut dyn Caller) -> Result<(), String> {
        let mut saved = HashMap::new();
        for (number, step) in self.steps.iter().enumerate() {
            let args = fill(&step.args, &saved);
            let outcome = caller.call(&step.tool, args).await;
            for (name, pointer) in &step.save {
                let value = outcome.structured.pointer(pointer).cloned().unwrap_or_default();
                saved.insert(format!("${name}"), value);
            }
            step.check(&outcome, &saved).map_err(|problem| {
                let (name, tool, text) = (&self.name, &step.tool, &outcome.text);
                format!("{name}, step {} ({tool}): {problem}\nanswer: {text}", number + 1)
            })?;
        }
        Ok(())
    }
}

impl Step {
    fn check(&self, outcome: &Outcome, saved: &HashMap<String, Value>) -> Result<(), String> {
        let (report, wanted) = match (&outcome.error, &self.error) {
            (None, None) => {
                matches(&outcome.structured, &fill(&self.expect, saved), "")?;
                return contains(&outcome.text, &self.text, saved);
            }
            (Some(report), Some(wanted)) => (report, wanted),
            (Some(_), None) => return Err("failed, expected success".to_owned()),
            (None, Some(_)) => return Err("succeeded, expected an error".to_owned()),
        };
        if report.kind != wanted.kind || (wanted.field.is_some() && report.field != wanted.field) {
            let got = (report.kind, &report.field);
            return Err(format!("got {got:?}, expected {:?} {:?}", wanted.kind, wanted.field));
        }
        contains(&outcome.text, &wanted.text, saved)
    }
}

fn contains(text: &str, parts: &[String], saved: &HashMap<String, Value>) -> Result<(), String> {
    for part in parts {
        let part = saved.get(part).and_then(Value::as_str).unwrap_or(part);
        if !text.contains(part) {
            return Err(format!("the text lacks {part:?}"));
        }
    }
    Ok(())
}

/// `value` with saved values in place of their names.
fn fill(value: &Value, saved: &HashMap<String, Value>) -> Value {
    match value {
        Value::String(text) => saved.get(text).unwrap_or(value).clone(),
        Value::Array(items) => items.iter().map(|item| fill(item, saved)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), fill(value, saved))).collect()
        }
        other => other.clone(),
    }
}

fn matches(got: &Value, pattern: &Value, at: &str) -> Result<(), String> {
    match (got, pattern) {
        (_, Value::Null) => Ok(()),
        (_, Value::String(text)) if text == "$any" => Ok(()),
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().try_for_each(|(key, wanted)| {
                let at = format!("{at}/{key}");
                match (fields.get(key), wanted.as_str()) {
                    (None, Some("$absent")) => Ok(()),
                    (Some(_), Some("$absent")) => Err(format!("{at} is there")),
                    (None, _) => Err(format!("{at} is missing")),
                    (Some(value), _) => matches(value, wanted, &at),
                }
            })
        }
        (Value::Array(items), Value::Array(wanted)) if items.len() == wanted.len() => {
            let pairs = items.iter().zip(wanted).enumerate();
            pairs
                .into_iter()
                .try_for_each(|(n, (item, wanted))| matches(item, wanted, &format!("{at}/{n}")))
        }
        _ if got == pattern => Ok(()),
        _ => Err(format!("{at}: got {got}, expected {pattern}")),
    }
}
