//! The tools that agents call, free of any transport.
//!
//! An agent that never speaks MCP lists the definitions as JSON Schema ([`Service::tools`]) and calls
//! by name with JSON ([`Service::call`]); the adapters do nothing else. Every tool is one struct with
//! one declaration of its parameters, from which its schema is made and its arguments are read.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Error, Result, Tvix,
    types::{ProjectSlug, RequestId, Source},
};

mod arguments;
mod date;
mod definition;
mod excerpt;
mod guidance;
mod memory;
mod reply;
mod resources;
mod shape;
mod wiki;

pub use definition::{Hints, ToolDefinition};
pub use guidance::{Prompt, Resource};
pub use reply::Reply;
pub use shape::Shape;

use arguments::Arguments;
use definition::Spec;

/// A group of tools that is switched on or off together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Toolset {
    /// Personal context.
    Memory,
    /// Reference documents.
    Wiki,
}

impl Toolset {
    /// What is on unless told otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Memory, Self::Wiki];

    /// The name in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Wiki => "wiki",
        }
    }

    /// Reads a list separated by commas. It is the exact list, not an addition to the default.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `toolsets` for an unknown name or an empty list.
    pub fn parse_list(list: &str) -> Result<Vec<Self>> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut toolsets = names.map(Self::parse).collect::<Result<Vec<_>>>()?;
        toolsets.dedup();
        if toolsets.is_empty() {
            return Err(Error::invalid("toolsets", "got an empty list, send memory, wiki or both"));
        }
        Ok(toolsets)
    }

    fn parse(name: &str) -> Result<Self> {
        let known =
            Self::DEFAULT.into_iter().find(|toolset| toolset.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| {
            Error::invalid("toolsets", format_args!("got {name:?}, known are memory and wiki"))
        })
    }
}

/// Who calls, and how.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Written on what is stored.
    pub source: Source,
    /// The tools this caller is offered.
    pub toolsets: Vec<Toolset>,
    /// The project of an `add_memory` that names none. Never a filter.
    pub default_project: Option<ProjectSlug>,
    /// Identifies the call, so that it lands once although it is sent twice.
    pub request: Option<RequestId>,
}

impl CallContext {
    /// A call by `source` with the default tools.
    pub fn new(source: Source) -> Self {
        let toolsets = Toolset::DEFAULT.to_vec();
        Self { source, toolsets, default_project: None, request: None }
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self::new(Source::library())
    }
}

/// Why a service could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// There is no tool of that name, or its toolset is off.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// There is no resource under that URI.
    #[error("unknown resource: {0}")]
    UnknownResource(String),
    /// There is no prompt of that name.
    #[error("unknown prompt: {0}")]
    UnknownPrompt(String),
    /// The call was understood and failed: the caller should be told why.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// What an agent can ask of a store, free of any transport. What needs no store is beside it:
/// [`instructions`], [`resources`], [`prompts`] and [`prompt`].
#[async_trait]
pub trait Service: fmt::Debug + Send + Sync {
    /// The tools offered to this caller, in a fixed order.
    ///
    /// # Errors
    /// What the store reports: known projects are named in the descriptions.
    async fn tools(&self, context: &CallContext) -> Result<Vec<ToolDefinition>>;

    /// Calls the tool `name`. Arguments are read leniently: numbers as text, `null` for what is
    /// optional, a list as JSON text and unknown keys are understood.
    ///
    /// # Errors
    /// [`ServiceError::UnknownTool`], or what the tool reports.
    async fn call(
        &self,
        context: &CallContext,
        name: &str,
        arguments: Value,
    ) -> Result<Reply, ServiceError>;

    /// The JSON text of the resource `uri`.
    ///
    /// # Errors
    /// [`ServiceError::UnknownResource`], or what reading it reports.
    async fn read_resource(&self, context: &CallContext, uri: &str)
    -> Result<String, ServiceError>;
}

/// The tools offered to this caller, in a fixed order, where no store is at hand: no known projects are
/// named in the descriptions.
pub fn definitions(context: &CallContext) -> Vec<ToolDefinition> {
    offered(context).map(|tool| tool.spec().define("")).collect()
}

/// What a new agent should know first: at most 2,048 characters, the first 512 sufficient alone.
pub fn instructions(context: &CallContext) -> String {
    guidance::instructions(&context.toolsets)
}

/// The prompts there are.
pub fn prompts() -> &'static [Prompt] {
    &guidance::PROMPTS
}

/// The text of the prompt `name`.
///
/// # Errors
/// [`ServiceError::UnknownPrompt`].
pub fn prompt(context: &CallContext, name: &str) -> Result<String, ServiceError> {
    guidance::prompt(&context.toolsets, name)
}

/// The resources offered to this caller.
pub fn resources(context: &CallContext) -> Vec<Resource> {
    resources::list(&context.toolsets)
}

/// One tool.
#[async_trait]
trait Tool: Sync {
    fn spec(&self) -> &'static Spec;

    async fn run(&self, tvix: &Tvix, context: &CallContext, arguments: Arguments) -> Result<Reply>;
}

/// Every tool there is, in the order listed.
static TOOLS: &[&dyn Tool] = &[
    &memory::AddMemory,
    &memory::SearchMemory,
    &date::GetCurrentDate,
    &wiki::AddWiki,
    &wiki::SearchWiki,
    &wiki::UpdateWiki,
    &wiki::DeleteWiki,
];

/// What the tool `name` touches, and whether it changes anything: enough to decide before a call whether
/// it may be made. None: there is no such tool.
pub fn reach(name: &str) -> Option<(Toolset, Hints)> {
    let mut specs = TOOLS.iter().map(|tool| tool.spec());
    specs.find(|spec| spec.name == name).map(|spec| (spec.toolset, spec.hints))
}

fn offered(context: &CallContext) -> impl Iterator<Item = &'static dyn Tool> {
    TOOLS.iter().copied().filter(|tool| context.toolsets.contains(&tool.spec().toolset))
}

fn find_tool(context: &CallContext, name: &str) -> Result<&'static dyn Tool, ServiceError> {
    let found = offered(context).find(|tool| tool.spec().name == name);
    found.ok_or_else(|| ServiceError::UnknownTool(name.to_owned()))
}

/// Whether a tool of this name is offered; a call of another fails before it is sent anywhere.
#[cfg(feature = "shared")]
pub(crate) fn require_tool(context: &CallContext, name: &str) -> Result<(), ServiceError> {
    find_tool(context, name).map(|_| ())
}

/// Whether a resource of this URI is offered.
pub(crate) fn require_resource(context: &CallContext, uri: &str) -> Result<(), ServiceError> {
    let known = resources(context).iter().any(|resource| resource.uri == uri);
    if known { Ok(()) } else { Err(ServiceError::UnknownResource(uri.to_owned())) }
}

#[async_trait]
impl Service for Tvix {
    async fn tools(&self, context: &CallContext) -> Result<Vec<ToolDefinition>> {
        let known = definition::known_projects(self).await?;
        Ok(offered(context).map(|tool| tool.spec().define(&known)).collect())
    }

    async fn call(
        &self,
        context: &CallContext,
        name: &str,
        arguments: Value,
    ) -> Result<Reply, ServiceError> {
        let tool = find_tool(context, name)?;
        let arguments = Arguments::read(tool.spec().params, arguments)?;
        let caller = self.speaking_for(context.source.clone(), context.request);
        Ok(tool.run(&caller, context, arguments).await?)
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        uri: &str,
    ) -> Result<String, ServiceError> {
        require_resource(context, uri)?;
        Ok(resources::read(self, uri).await?)
    }
}
