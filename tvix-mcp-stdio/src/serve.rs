//! The MCP server on stdin and stdout.

use std::{io::IsTerminal, sync::Arc};

use rmcp::{
    service::{RunningService, ServerInitializeError, serve_server},
    transport::stdio_pipes,
};
use tvix_core::{Error, Result, mcp::Server};

use crate::{args::Args, input::Until, output};

/// Serves until the client closes stdin or a signal asks to end. What is in flight is finished.
///
/// # Errors
/// What keeps the data folder from being opened, or flags that are wrong.
pub(crate) async fn serve(args: &Args) -> Result<()> {
    let (handle, config) = args.open().await?;
    if std::io::stdin().is_terminal() {
        output::hint(
            "tvix-mcp-stdio is an MCP server: a client starts it and speaks JSON on stdin. \
             Try `tvix-mcp-stdio demo`, or --help. End with Ctrl-D.",
        );
    }
    let server = Server::new(Arc::new(handle.clone()), config.toolsets, args.project.clone());
    let ended = connection(server).await;
    handle.close().await;
    ended
}

async fn connection(server: Server) -> Result<()> {
    let (input, output) = stdio_pipes();
    let running = match serve_server(server, (Until::new(input, asked_to_end()), output)).await {
        Ok(running) => running,
        Err(error) => return before_handshake(error),
    };
    finish(running).await
}

/// A client that leaves before it said a word, or whose pipe breaks, has simply gone.
fn before_handshake(error: ServerInitializeError) -> Result<()> {
    match error {
        ServerInitializeError::ConnectionClosed(_)
        | ServerInitializeError::TransportError { .. }
        | ServerInitializeError::Cancelled => Ok(()),
        other => Err(Error::backend("the MCP handshake", other)),
    }
}

async fn finish(running: RunningService<rmcp::RoleServer, Server>) -> Result<()> {
    let ended = running.waiting().await;
    ended.map(|_| ()).map_err(|error| Error::backend("serving", error))
}

#[cfg(unix)]
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
