//! `tvix-mcp-http user …` and `tvix-mcp-http token …`.

use std::io::{self, BufRead, Write};

use clap::Subcommand;
use jiff::Timestamp;
use uuid::Uuid;

use super::{
    Scope,
    clock::{Clock, Seconds},
    passwords::{Busy, Password, Passwords},
    secret::{Purpose, Secret},
    store::{Failure, Personal, Session, Store, User, UserName, users, users::Added},
    tokens::{DAYS, NewToken, PersonalTokens, TokenError},
};

/// Manages the people who may log in.
#[derive(Debug, Clone, Subcommand)]
pub enum UserCommand {
    /// Adds a user and prints a new password, once
    Add {
        /// 1-64 letters, digits and the signs . _ - @
        name: String,
        /// Takes the password from the first line of standard input instead
        #[arg(long)]
        password_stdin: bool,
    },
    /// Gives a user a new password and logs their browsers out
    Passwd {
        /// The name
        name: String,
        /// Takes the password from the first line of standard input instead of making one
        #[arg(long)]
        password_stdin: bool,
    },
    /// Shuts a user out: no login, and every token ends. Their data stays
    Disable {
        /// The name
        name: String,
    },
    /// Lets a disabled user in again; apps have to be connected anew
    Enable {
        /// The name
        name: String,
    },
    /// Lists users: name, folder, state
    List,
}

/// Manages personal access tokens, in every mode.
#[derive(Debug, Clone, Subcommand)]
pub enum TokenCommand {
    /// Makes a token and prints it, once
    Add {
        /// What it is for, 1-60 characters; also the source of memories
        label: String,
        /// Whose it is; without users (mode none) leave it out
        #[arg(long)]
        user: Option<String>,
        /// What it allows; all if left out
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// How long it is good, in days
        #[arg(long, default_value_t = 90)]
        days: u64,
    },
    /// Lists tokens: id, label, scopes, end
    List {
        /// Whose; without users (mode none) leave it out
        #[arg(long)]
        user: Option<String>,
    },
    /// Revokes a token at once
    Revoke {
        /// The id that the list shows
        id: Uuid,
    },
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// A value is not good; the text names it.
    #[error("{0}")]
    Invalid(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Failure),
    /// The password could not be hashed.
    #[error(transparent)]
    Password(#[from] Busy),
    /// Reading or writing failed.
    #[error("input or output: {0}")]
    Io(#[from] io::Error),
}

impl From<TokenError> for CommandError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Store(failure) => Self::Store(failure),
            TokenError::Invalid(reason) => Self::Invalid(reason.to_owned()),
        }
    }
}

/// What commands work with.
pub struct Console<'a> {
    /// The store of the server's folder; servers may be running on it.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Where a password comes from.
    pub input: &'a mut (dyn BufRead + Send),
    /// Where lists and new secrets go.
    pub output: &'a mut (dyn Write + Send),
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl UserCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn run(self, console: &mut Console<'_>) -> Result<(), CommandError> {
        match self {
            Self::Add { name, password_stdin } => add(console, &name, password_stdin).await,
            Self::Passwd { name, password_stdin } => passwd(console, &name, password_stdin).await,
            Self::Disable { name } => set_disabled(console, &name, true).await,
            Self::Enable { name } => set_disabled(console, &name, false).await,
            Self::List => list(console).await,
        }
    }
}

async fn add(console: &mut Console<'_>, name: &str, stdin: bool) -> Result<(), CommandError> {
    let name = read_name(name)?;
    let (password, made) = password(console, stdin)?;
    let user = User {
        name: name.as_str().to_owned(),
        password: Passwords::new()?.hash(password).await?,
        disabled: false,
        created: console.clock.now(),
    };
    match console.store.add_user(name.clone(), user, None).await? {
        Added::New(id) => {
            writeln!(console.output, "added {name} ({id})")?;
            Ok(tell(console, made.as_ref())?)
        }
        Added::Taken | Added::NotAllowed => {
            Err(CommandError::Invalid(format!("name: there is a user {name} already")))
        }
    }
}

async fn passwd(console: &mut Console<'_>, name: &str, stdin: bool) -> Result<(), CommandError> {
    let name = read_name(name)?;
    let (password, made) = password(console, stdin)?;
    let hash = Passwords::new()?.hash(password).await?;
    change(console, &name, move |rows, id, user| {
        user.password = hash;
        rows.remove_if::<Session>(|_, session| session.user == id)?;
        Ok(())
    })
    .await?;
    writeln!(console.output, "{name} has a new password; their browsers are logged out")?;
    Ok(tell(console, made.as_ref())?)
}

async fn set_disabled(
    console: &mut Console<'_>,
    name: &str,
    disabled: bool,
) -> Result<(), CommandError> {
    let name = read_name(name)?;
    change(console, &name, move |rows, id, user| {
        user.disabled = disabled;
        if disabled { users::revoke_all(rows, id) } else { Ok(()) }
    })
    .await?;
    let done = if disabled { "disabled; all tokens and logins have ended" } else { "enabled" };
    Ok(writeln!(console.output, "{name} is {done}")?)
}

async fn change(
    console: &Console<'_>,
    name: &UserName,
    change: impl FnOnce(&super::store::Writing, Uuid, &mut User) -> Result<(), Failure> + Send + 'static,
) -> Result<(), CommandError> {
    let found = console.store.change_user(name.clone(), change).await?;
    found.then_some(()).ok_or_else(|| nobody(name))
}

async fn list(console: &mut Console<'_>) -> Result<(), CommandError> {
    for user in console.store.users().await? {
        let state = if user.disabled { "disabled" } else { "active" };
        writeln!(
            console.output,
            "{}\t{}\t{state}\tsince {}",
            user.name,
            user.id,
            day(user.created)
        )?;
    }
    Ok(())
}

fn read_name(name: &str) -> Result<UserName, CommandError> {
    UserName::parse(name).map_err(|reason| CommandError::Invalid(format!("{name:?}: {reason}")))
}

fn nobody(name: &UserName) -> CommandError {
    CommandError::Invalid(format!(
        "name: there is no user {name}; tvix-mcp-http user list shows all"
    ))
}

/// A password from standard input, or a new one, which is then to be shown.
fn password(
    console: &mut Console<'_>,
    stdin: bool,
) -> Result<(Password, Option<Secret>), CommandError> {
    let invalid = |reason: &str| CommandError::Invalid(reason.to_owned());
    if stdin {
        let mut line = String::new();
        io::Read::take(&mut *console.input, 4096).read_line(&mut line)?;
        let line = line.trim_end_matches(['\r', '\n']);
        return Ok((Password::new(line).map_err(invalid)?, None));
    }
    let made = Secret::new(Purpose::Session)?;
    Ok((Password::new(shown(&made)).map_err(invalid)?, Some(made)))
}

/// Twenty characters are 120 random bits, and can be typed.
fn shown(made: &Secret) -> &str {
    made.expose().get(7..27).unwrap_or_default()
}

fn tell(console: &mut Console<'_>, made: Option<&Secret>) -> io::Result<()> {
    made.map_or(Ok(()), |made| writeln!(console.output, "password (shown once): {}", shown(made)))
}

impl TokenCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn run(self, console: &mut Console<'_>) -> Result<(), CommandError> {
        let tokens = PersonalTokens::new(console.store.clone(), console.clock.clone());
        match self {
            Self::Add { label, user, scopes, days } => {
                let user = owner(console, user.as_deref()).await?;
                let scopes = read_scopes(&scopes)?;
                if !DAYS.contains(&days) {
                    return Err(CommandError::Invalid(format!("days: got {days}, send 1-3650")));
                }
                let secret = tokens.create(NewToken { user, name: label, scopes, days }).await?;
                Ok(writeln!(console.output, "{}", secret.expose())?)
            }
            Self::List { user } => {
                let user = owner(console, user.as_deref()).await?;
                list_tokens(console, &tokens, user).await
            }
            Self::Revoke { id } => revoke(console, id).await,
        }
    }
}

async fn list_tokens(
    console: &mut Console<'_>,
    tokens: &PersonalTokens,
    user: Uuid,
) -> Result<(), CommandError> {
    for token in tokens.list(user).await? {
        let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
        let (scopes, ends) = (scopes.join(","), day(token.ends));
        writeln!(console.output, "{}\t{}\t{scopes}\tuntil {ends}", token.id, token.name)?;
    }
    Ok(())
}

async fn revoke(console: &mut Console<'_>, id: Uuid) -> Result<(), CommandError> {
    let revoked =
        console.store.write(move |rows| rows.remove_if::<Personal>(|_, row| row.id == id));
    if revoked.await? == 0 {
        return Err(CommandError::Invalid(format!("id: there is no token {id}")));
    }
    Ok(writeln!(console.output, "revoked {id}")?)
}

/// The user of that name; without a name the one of mode none.
async fn owner(console: &Console<'_>, name: Option<&str>) -> Result<Uuid, CommandError> {
    let Some(name) = name else {
        if console.store.users().await?.is_empty() {
            return Ok(Uuid::nil());
        }
        return Err(CommandError::Invalid("user: missing; send --user NAME".to_owned()));
    };
    let name = read_name(name)?;
    let wanted = name.clone();
    let found = console.store.read(move |rows| users::by_name(rows, &wanted)).await?;
    found.map(|(id, _)| id).ok_or_else(|| nobody(&name))
}

fn read_scopes(names: &[String]) -> Result<std::collections::BTreeSet<Scope>, CommandError> {
    if names.is_empty() {
        return Ok(Scope::ALL.into_iter().collect());
    }
    let known = Scope::ALL.map(Scope::as_str).join(", ");
    let read = |name: &String| {
        let unknown =
            || CommandError::Invalid(format!("scopes: got {name:?}, send some of {known}"));
        Scope::parse(name.trim()).ok_or_else(unknown)
    };
    names.iter().map(read).collect()
}

fn day(seconds: Seconds) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}
