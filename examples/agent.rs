//! An agent that uses Tvix without MCP: it hands the tool definitions to a model and calls by name with
//! JSON what the model asks for.
//!
//! The model here is a script, so that the example runs offline; a real one is an HTTP call in its place.
//!
//! `cargo run -p tvix-core --example agent`
#![allow(clippy::print_stdout, reason = "an example shows the conversation")]

use std::error::Error;

use serde::Serialize;
use serde_json::{Value, json};
use tvix_core::{
    Tvix,
    tools::{self, CallContext, Service, ToolDefinition},
    types::Source,
};

/// A model that never stops calling tools is stopped.
const TURNS_MAX: usize = 8;

/// One message of the conversation, as it is sent to the model.
#[derive(Debug, Serialize)]
enum Message {
    System(String),
    User(String),
    Call { tool: String, arguments: Value },
    Result { text: String, failed: bool },
}

/// What a model does next.
enum Turn {
    Call { tool: String, arguments: Value },
    Say(String),
}

/// What the loop needs of a model.
trait Model {
    fn next(&mut self, tools: &[Value], talk: &[Message]) -> Turn;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tvix = Tvix::in_memory();
    // The source is written on what this agent stores, and can be filtered by later.
    let context = CallContext::new(Source::named("Example agent"));
    let question = "I am allergic to peanuts. What do you know about my food?";
    let answer = converse(&tvix, &context, &mut Script, question).await?;
    println!("agent: {answer}");
    Ok(())
}

/// The loop: the model speaks or calls; what a call answers goes back to the model.
async fn converse(
    service: &dyn Service,
    context: &CallContext,
    model: &mut dyn Model,
    question: &str,
) -> Result<String, Box<dyn Error>> {
    let tools: Vec<Value> = service.tools(context).await?.iter().map(for_model).collect();
    let mut talk =
        vec![Message::System(tools::instructions(context)), Message::User(question.to_owned())];
    println!("user:  {question}");
    for _ in 0..TURNS_MAX {
        match model.next(&tools, &talk) {
            Turn::Say(answer) => return Ok(answer),
            Turn::Call { tool, arguments } => {
                println!("call:  {tool} {arguments}");
                let result = call(service, context, &tool, arguments.clone()).await;
                talk.extend([Message::Call { tool, arguments }, result]);
            }
        }
    }
    Err("the model did not come to an answer".into())
}

/// Calls a tool. An error is an answer too: it names the argument, what came and what to send, so the
/// model can mend the call.
async fn call(
    service: &dyn Service,
    context: &CallContext,
    tool: &str,
    arguments: Value,
) -> Message {
    let result = match service.call(context, tool, arguments).await {
        Ok(reply) => Message::Result { text: reply.text, failed: false },
        Err(error) => Message::Result { text: error.to_string(), failed: true },
    };
    println!("       {result:?}");
    result
}

/// A tool the way most model APIs take it.
fn for_model(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

/// Stands in for a model: remembers what the user said, then searches, at first with a mistake.
struct Script;

impl Model for Script {
    fn next(&mut self, tools: &[Value], talk: &[Message]) -> Turn {
        assert!(tools.iter().any(|tool| tool["name"] == "add_memory"), "the tools are on offer");
        match talk.last() {
            Some(Message::System(_) | Message::User(_)) | None => {
                invoke("add_memory", json!({"content": "Is allergic to peanuts"}))
            }
            Some(Message::Call { tool, arguments }) => invoke(tool, arguments.clone()),
            Some(Message::Result { failed: true, text }) if text.starts_with("limit") => {
                invoke("search_memory", json!({"query": "allergic peanuts", "limit": 5}))
            }
            Some(Message::Result { failed: true, text }) => Turn::Say(format!("I failed: {text}")),
            Some(Message::Result { text, .. }) if text.starts_with("Saved memory") => {
                invoke("search_memory", json!({"query": "allergic peanuts", "limit": 500}))
            }
            Some(Message::Result { text, .. }) => {
                Turn::Say(format!("this is what I found.\n{text}"))
            }
        }
    }
}

fn invoke(tool: &str, arguments: Value) -> Turn {
    Turn::Call { tool: tool.to_owned(), arguments }
}
