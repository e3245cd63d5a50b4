//! From settings to a way to know who calls, and the commands that manage it.

use std::{
    io::{BufReader, Write as _},
    net::SocketAddr,
    path::Path,
    sync::Arc,
};

use tvix_core::{Error, Result};

use crate::{
    args::Command,
    auth::{
        Authenticator, Builtin, Clock, CommandError, Console, NoAuth, PersonalTokens, PublicUrl,
        Settings, Store, WithPersonalTokens,
    },
    config::Config,
    scopes,
    settings::AuthMode,
};

/// The way that `config` names, for a server that listens on `address`.
///
/// # Errors
/// What keeps it from starting.
pub(crate) async fn authenticator(
    config: &Config,
    address: SocketAddr,
) -> Result<Arc<dyn Authenticator>> {
    let store = open(&config.folder)?;
    match config.auth {
        AuthMode::Builtin => builtin(config, address, store).await,
        AuthMode::None => Ok(with_tokens(Arc::new(NoAuth), store)),
        #[cfg(feature = "oidc")]
        AuthMode::Oidc => {
            let origin = config.origin(address);
            let oidc = crate::auth::oidc::Oidc::start(&config.oidc, &origin, &config.toolsets);
            Ok(with_tokens(oidc, store))
        }
        #[cfg(not(feature = "oidc"))]
        AuthMode::Oidc => Err(Error::invalid("auth.mode", "this build knows no external issuer")),
    }
}

/// A way with personal access tokens beside it.
fn with_tokens(way: Arc<dyn Authenticator>, store: Store) -> Arc<dyn Authenticator> {
    let tokens = PersonalTokens::new(store, Clock::system());
    Arc::new(WithPersonalTokens::new(way, tokens))
}

async fn builtin(
    config: &Config,
    address: SocketAddr,
    store: Store,
) -> Result<Arc<dyn Authenticator>> {
    let public_url = PublicUrl::parse(&config.origin(address));
    let public_url = public_url.map_err(|reason| Error::invalid("public_url", reason))?;
    let mut settings = Settings::new(public_url);
    settings.scopes = scopes::offered(&config.toolsets);
    settings.options = config.builtin.clone();
    let failed = |error| Error::backend("auth.redb", error);
    let builtin = Builtin::new(settings, store)
        .map_err(|error| Error::backend("starting the authorization server", error))?;
    if let Some(link) = builtin.setup_link().await.map_err(failed)? {
        // To who started the server, not to the log: it is a secret.
        let _ = writeln!(
            std::io::stderr(),
            "There is no user yet. To make the first one, open this link within a day:\n  {link}"
        );
    }
    tokio::spawn(builtin.clone().keep_swept());
    Ok(Arc::new(builtin))
}

/// Runs a command on the folder of a server.
///
/// # Errors
/// What was wrong, or what failed.
pub(crate) fn manage(folder: &Path, command: Command) -> Result<()> {
    let store = open(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::backend("starting", error))?;
    let (mut input, mut output) = (BufReader::new(std::io::stdin()), std::io::stdout());
    let mut console =
        Console { store, clock: Clock::system(), input: &mut input, output: &mut output };
    let done = runtime.block_on(async {
        match command {
            Command::User(command) => command.run(&mut console).await,
            Command::Token(command) => command.run(&mut console).await,
        }
    });
    done.map_err(|error| match error {
        CommandError::Invalid(reason) => Error::invalid("command", reason),
        error => Error::backend("the command", error),
    })
}

fn open(folder: &Path) -> Result<Store> {
    Store::open(folder)
        .map_err(|error| Error::backend(format!("opening {}/auth.redb", folder.display()), error))
}
