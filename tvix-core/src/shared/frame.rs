//! Frames on the local socket: a length of four bytes, least first, then JSON.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{
    Error, ErrorReport, Result,
    tools::{CallContext, Toolset},
    types::{ProjectSlug, RequestId, Source},
};

/// The greatest frame, in bytes.
const FRAME_MAX: usize = 16 << 20;
/// The protocol spoken here; a change of it is a new number.
pub(super) const PROTOCOL: u32 = 1;

/// What a client says first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) tvix: u32,
    pub(super) version: String,
    pub(super) format: u32,
    /// Settings that would be in force if this client owned the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settings: Option<crate::Settings>,
}

/// What the owner answers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Welcome {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) err: Option<String>,
    /// Something the person at the client should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// A frame of a client after the greeting.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Request {
    /// Nobody waits for this call any more.
    Cancel { id: RequestId, cancel: bool },
    /// Perform an operation.
    Call(Call),
}

/// One operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) args: Value,
    pub(super) ctx: Context,
}

/// For whom an operation is performed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Context {
    pub(super) source: Source,
    #[serde(default)]
    pub(super) toolsets: Vec<Toolset>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<ProjectSlug>,
}

impl From<&CallContext> for Context {
    fn from(context: &CallContext) -> Self {
        Self {
            source: context.source.clone(),
            toolsets: context.toolsets.clone(),
            project: context.default_project.clone(),
        }
    }
}

/// A frame of the owner after the welcome.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Response {
    pub(super) id: RequestId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) err: Option<ErrorReport>,
}

impl Response {
    pub(super) fn new(id: RequestId, answer: Result<Value>) -> Self {
        match answer {
            Ok(value) => Self { id, ok: Some(value), err: None },
            Err(error) => Self { id, ok: None, err: Some(error.report()) },
        }
    }

    pub(super) fn into_answer(self) -> Result<Value> {
        match self.err {
            Some(report) => Err(report.into()),
            None => Ok(self.ok.unwrap_or_default()),
        }
    }
}

/// Reads one frame; `None` when the other side has closed.
pub(super) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length).await {
        Err(error) if is_gone(&error) => return Ok(None),
        other => other.map_err(|error| Error::backend("reading a frame", error))?,
    };
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_MAX {
        return Err(Error::invalid(
            "frame",
            format_args!("got {length} bytes, at most {FRAME_MAX}"),
        ));
    }
    let mut body = vec![0; length];
    match from.read_exact(&mut body).await {
        Err(error) if is_gone(&error) => return Ok(None),
        other => other.map_err(|error| Error::backend("reading a frame", error))?,
    };
    serde_json::from_slice(&body).map(Some).map_err(|error| Error::invalid("frame", error))
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// The bytes of one frame.
///
/// # Errors
/// [`Error::InvalidInput`] for a message that is too long for a frame.
pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)
        .map_err(|error| Error::backend("writing a frame", error))?;
    let length = bytes.len() - 4;
    match u32::try_from(length) {
        Ok(short) if length <= FRAME_MAX => bytes[..4].copy_from_slice(&short.to_le_bytes()),
        _ => {
            let reason = format!(
                "the message has {length} bytes, at most {FRAME_MAX}; ask for less at a time"
            );
            return Err(Error::invalid("frame", reason));
        }
    }
    Ok(bytes)
}

/// Writes one frame.
pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<()> {
    let bytes = encode(message)?;
    let written = async {
        to.write_all(&bytes).await?;
        to.flush().await
    };
    written.await.map_err(|error: std::io::Error| Error::backend("writing a frame", error))
}
