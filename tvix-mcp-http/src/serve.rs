//! From settings to a running server, and to its end.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum_server::accept::{Accept, NoDelayAcceptor};
#[cfg(feature = "tls")]
use axum_server::tls_rustls::RustlsAcceptor;
use tokio::net::TcpStream;
use tvix_core::{Error, Result};

use crate::{
    auth::{Authenticator, NoAuth},
    config::Config,
    metrics,
    router::{App, router},
    settings::AuthMode,
};

/// How long a connection without a request is kept. Longer than proxies keep theirs (Caddy two minutes,
/// nginx one), so that it is the proxy that closes, which then does not send a request into the void.
const IDLE: Duration = Duration::from_secs(130);
/// The greatest size of a request's headers, in bytes.
const HEADERS_MAX: usize = 64 * 1024;

/// Serves until the process is asked to end, and finishes what is in flight then.
///
/// # Errors
/// What keeps the server from starting.
pub(crate) async fn run(config: Config) -> Result<()> {
    raise_open_files();
    let listener = listen(config.listen)?;
    let address = listener.local_addr().map_err(|error| Error::backend("listening", error))?;
    let auth = authenticator(&config, &config.origin(address))?;
    serve(config, auth, listener, asked_to_end()).await
}

/// Serves on `listener` whom `auth` lets in, until `end` is there; then finishes what is in flight, for as
/// long as a call may take, and closes every user's folder. `config.listen` is not looked at.
///
/// # Errors
/// What keeps the server from starting.
pub async fn serve(
    config: Config,
    auth: Arc<dyn Authenticator>,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    prepare(&config.folder)?;
    let address = listener.local_addr().map_err(|error| Error::backend("listening", error))?;
    let metrics = config.metrics.map(listen).transpose()?;
    let app = Arc::new(App::new(config, auth));
    let metrics = metrics.map(|listener| tokio::spawn(serve_metrics(listener, Arc::clone(&app))));
    tracing::info!(url = format!("{}/mcp", app.config.origin(address)), %address, "listening");
    let ending = tokio::spawn(end_after(end, Arc::clone(&app)));
    let served = accept(listener, &app).await;
    ending.abort();
    app.tenants.close_all().await;
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    tracing::info!("ended");
    served.map_err(|error| Error::backend("serving", error))
}

/// How callers of the server at `origin` are known.
#[cfg_attr(not(feature = "oidc"), allow(unused_variables, reason = "the issuer is told it"))]
fn authenticator(config: &Config, origin: &str) -> Result<Arc<dyn Authenticator>> {
    match config.auth {
        AuthMode::None => Ok(Arc::new(NoAuth)),
        #[cfg(feature = "oidc")]
        AuthMode::Oidc => {
            Ok(crate::auth::oidc::Oidc::start(&config.oidc, origin, &config.toolsets))
        }
        #[cfg(not(feature = "oidc"))]
        AuthMode::Oidc => Err(Error::invalid("auth.mode", "this build knows no external issuer")),
        AuthMode::Builtin => Err(Error::invalid(
            "auth.mode",
            "this build knows no users yet; send mode = \"none\" to serve this machine alone",
        )),
    }
}

/// Makes the server's folder, for its user alone.
fn prepare(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(folder.join("users"));
    made.map_err(|error| Error::backend(format!("making {}", folder.display()), error))
}

/// Every connection is an open file, and so are those of every user's store; the usual limit of 1,024
/// is one that a process may raise by itself.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!(%error, "the limit of open files stays as it is");
        }
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener> {
    let failed = |error| Error::backend(format!("listening on {address}"), error);
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

async fn accept(listener: TcpListener, app: &Arc<App>) -> io::Result<()> {
    let limits = app.config.limits;
    let bounded = Bounded { handle: app.handle.clone(), max: limits.connections };
    let mut server = axum_server::from_tcp(listener)?
        .handle(app.handle.clone())
        .first_request_timeout(limits.read)
        .http1_only()
        .acceptor(bounded);
    server.http_builder().http1().header_read_timeout(IDLE).max_buf_size(HEADERS_MAX);
    let service = router(app).into_make_service_with_connect_info::<SocketAddr>();
    #[cfg(feature = "tls")]
    if let Some(files) = &app.config.tls {
        let config = crate::tls::config(files)?;
        return server
            .map(|inner| RustlsAcceptor::new(config).acceptor(inner))
            .serve(service)
            .await;
    }
    server.serve(service).await
}

async fn serve_metrics(listener: TcpListener, app: Arc<App>) {
    if let Ok(address) = listener.local_addr() {
        tracing::info!(url = format!("http://{address}/metrics"), "listening for Prometheus");
    }
    let served = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => axum::serve(listener, metrics::router(app)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!(%error, "metrics are not served any more");
    }
}

/// Takes connections until there are as many as there may be.
#[derive(Debug, Clone)]
struct Bounded {
    handle: axum_server::Handle<SocketAddr>,
    max: usize,
}

impl<S> Accept<TcpStream, S> for Bounded {
    type Stream = TcpStream;
    type Service = S;
    type Future = std::future::Ready<io::Result<(TcpStream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        if self.handle.connection_count() > self.max {
            tracing::warn!(
                max = self.max,
                "a connection is refused: there are as many as there may be"
            );
            return std::future::ready(Err(io::ErrorKind::ConnectionRefused.into()));
        }
        NoDelayAcceptor.accept(stream, service)
    }
}

async fn end_after(end: impl Future<Output = ()>, app: Arc<App>) {
    end.await;
    tracing::info!(
        in_flight = app.in_flight.count(),
        "ending: what is in flight is finished first"
    );
    app.ending.store(true, Ordering::Relaxed);
    app.handle.graceful_shutdown(Some(app.config.limits.call));
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
