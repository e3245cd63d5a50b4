//! The tools as an MCP server, on any transport that rmcp offers.
//!
//! Both eras of the protocol are served on one connection: the `initialize` handshake of 2024-11-05 to
//! 2025-11-25, and the per-request metadata of 2026-07-28. Nothing here depends on a session.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, Implementation, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ResourceContents, Role, ServerCapabilities,
        ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::{
    Error, ErrorKind,
    tools::{
        self, CallContext, Prompt, Reply, Resource, Service, ServiceError, ToolDefinition, Toolset,
    },
    types::{ProjectSlug, Source},
};

/// How long a client may keep a list, in milliseconds. Lists are private: they name projects.
const LIST_TTL_MS: u64 = 60_000;
/// Where an error's fields stand in the `_meta` of a failed call.
const ERROR_META: &str = "tvix/error";

/// An MCP server over a [`Service`].
///
/// Cheap to clone. The source of what is stored is derived from the name that the client gives.
#[derive(Debug, Clone)]
pub struct Server {
    service: Arc<dyn Service>,
    toolsets: Vec<Toolset>,
    default_project: Option<ProjectSlug>,
    source: Option<Source>,
}

impl Server {
    /// A server of `service` that offers the tools of `toolsets`. `default_project` is the project of
    /// an `add_memory` that names none.
    pub fn new(
        service: Arc<dyn Service>,
        toolsets: Vec<Toolset>,
        default_project: Option<ProjectSlug>,
    ) -> Self {
        Self { service, toolsets, default_project, source: None }
    }

    /// The same server for a client whose name is known otherwise, such as from its access token: what
    /// it stores comes from `source`, whatever name it gives in its messages.
    #[must_use]
    pub fn speaking_for(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    fn context(&self, source: Source) -> CallContext {
        CallContext {
            source,
            toolsets: self.toolsets.clone(),
            default_project: self.default_project.clone(),
            request: None,
        }
    }

    async fn answer(
        &self,
        tool: &str,
        arguments: Value,
        request: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let context = self.caller(request);
        let answer = self.service.call(&context, tool, arguments);
        let Some(answer) = request.ct.run_until_cancelled(answer).await else {
            return Err(ErrorData::internal_error("cancelled", None));
        };
        match answer {
            Ok(reply) => Ok(success(reply)),
            Err(ServiceError::Failed(error)) => Ok(failure(&error)),
            Err(other) => Err(protocol_error(other)),
        }
    }

    fn caller(&self, request: &RequestContext<RoleServer>) -> CallContext {
        let named = || request.client_info().map(|client| Source::from_client(&client.name));
        self.context(self.source.clone().or_else(named).unwrap_or_else(Source::unknown))
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition { name, title, description, input_schema, output_schema, hints, .. } =
        definition;
    let annotations = ToolAnnotations::with_title(title.clone())
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(false);
    let mut tool = Tool::new(name, description, object(input_schema));
    tool.title = Some(title);
    tool.output_schema = Some(object(output_schema));
    tool.annotations = Some(annotations);
    tool
}

fn success(reply: Reply) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
    result.structured_content = Some(reply.structured);
    result
}

/// A failed call as the model sees it: clients drop the structure of errors, so the text says all.
fn failure(error: &Error) -> CallToolResult {
    if matches!(error.kind(), ErrorKind::Backend | ErrorKind::Corrupt) {
        tracing::error!(%error, "a call failed");
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
    let mut meta = MetaObject::default();
    meta.insert(ERROR_META.to_owned(), json!(error.report()));
    result.meta = Some(meta);
    result
}

fn protocol_error(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::UnknownTool(name) => {
            ErrorData::invalid_params(format!("Unknown tool: {name}"), None)
        }
        ServiceError::UnknownPrompt(name) => {
            ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)
        }
        ServiceError::UnknownResource(uri) => {
            ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})))
        }
        ServiceError::Failed(error) => {
            ErrorData::internal_error(error.to_string(), Some(json!({ERROR_META: error.report()})))
        }
    }
}

fn resource(resource: Resource) -> rmcp::model::Resource {
    rmcp::model::Resource::new(resource.uri, resource.name)
        .with_title(resource.title)
        .with_description(resource.description)
        .with_mime_type(resource.mime_type)
}

fn prompt(prompt: &Prompt) -> rmcp::model::Prompt {
    rmcp::model::Prompt::new(prompt.name, Some(prompt.description), None).with_title(prompt.title)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let about = Implementation::new("tvix", env!("CARGO_PKG_VERSION")).with_title("Tvix");
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(tools::instructions(&self.context(Source::unknown())))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        request: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self.service.tools(&self.caller(&request)).await;
        let tools = listed.map_err(|error| protocol_error(error.into()))?;
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(tool).collect())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        request: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.map_or(Value::Null, Value::Object);
        Ok(self.answer(&call.name, arguments, &request).await?.into())
    }

    /// Requests of a known method whose parameters have another shape than rmcp reads arrive here. Some
    /// clients send the arguments of a tool as JSON text, which the tools understand; of the others the
    /// caller is told what is wrong, instead of that the method is unknown.
    async fn on_custom_request(
        &self,
        custom: CustomRequest,
        request: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = custom.params.unwrap_or_default();
        match (custom.method.as_str(), params["name"].as_str()) {
            ("tools/call", Some(tool)) => {
                let mut result = self.answer(tool, params["arguments"].clone(), &request).await?;
                if request.protocol_version() != Some(ProtocolVersion::V_2026_07_28) {
                    result.result_type = None;
                }
                Ok(CustomResult::new(json!(result)))
            }
            ("tools/call" | "prompts/get", None) => {
                Err(ErrorData::invalid_params("params.name: send the name as a text", None))
            }
            ("resources/read", _) => {
                Err(ErrorData::invalid_params("params.uri: send the URI as a text", None))
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, custom.method, None)),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        request: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = tools::resources(&self.caller(&request));
        Ok(ListResourcesResult::with_all_items(resources.into_iter().map(resource).collect())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _request: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(Vec::new())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        request: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = self.service.read_resource(&self.caller(&request), &read.uri).await;
        let contents = ResourceContents::text(text.map_err(protocol_error)?, read.uri)
            .with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _request: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(tools::prompts().iter().map(prompt).collect())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        get: GetPromptRequestParams,
        request: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = tools::prompt(&self.caller(&request), &get.name).map_err(protocol_error)?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }
}
