//! Codes become tokens, tokens become newer tokens.
//!
//! Each step is one transaction of the store, and transactions run one after the other over all
//! processes: of two requests with the same code or token, one is first.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::Server;
use crate::auth::{
    Scope,
    clock::{DAY, Seconds},
    secret::{Purpose, Secret},
    store::{Access, Code, Failure, Grant, Refresh, Registered, Rows as _, Writing, users},
};

/// How often one refresh token may be used again within its grace. Windows of one client are a few; more
/// is somebody who makes rows.
const AGAIN_MOST: u32 = 32;

/// A code that shall become tokens.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) code: Secret,
    pub(super) client: String,
    /// The S256 challenge of the verifier that came.
    pub(super) challenge: String,
    pub(super) redirect_uri: Option<String>,
}

/// A refresh token that shall become newer tokens.
#[derive(Debug)]
pub(super) struct Refreshing {
    pub(super) token: Secret,
    pub(super) client: String,
    /// What the new access token shall be narrowed to.
    pub(super) scopes: Option<BTreeSet<Scope>>,
}

/// Two new tokens.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) access: Secret,
    pub(super) refresh: Secret,
    pub(super) scopes: BTreeSet<Scope>,
}

/// What came of it. A refusal can have changed something as well, so it is no error of the transaction.
#[derive(Debug)]
pub(super) enum Outcome {
    Issued(Pair),
    /// The code of RFC 6749 5.2 and the reason.
    Refused(&'static str, &'static str),
}

fn invalid(reason: &'static str) -> Outcome {
    Outcome::Refused("invalid_grant", reason)
}

/// How long things last.
#[derive(Debug, Clone, Copy)]
struct Terms {
    now: Seconds,
    access: Seconds,
    refresh: Seconds,
    grace: Seconds,
}

impl Server {
    fn terms(&self) -> Terms {
        let options = &self.settings.options;
        Terms {
            now: self.now(),
            access: options.access_token_seconds,
            refresh: options.refresh_token_days * DAY,
            grace: options.refresh_grace_seconds,
        }
    }

    /// Redeems a code (RFC 6749 4.1.3, RFC 7636 4.6).
    pub(super) async fn exchange(&self, exchange: Exchange) -> Result<Outcome, Failure> {
        let terms = self.terms();
        self.store.write(move |rows| redeem(rows, &exchange, terms)).await
    }

    /// Rotates a refresh token (OAuth 2.1 4.3.1).
    pub(super) async fn refresh(&self, refreshing: Refreshing) -> Result<Outcome, Failure> {
        let (terms, resource) = (self.terms(), self.settings.public_url.resource());
        self.store.write(move |rows| rotate(rows, &refreshing, &resource, terms)).await
    }
}

fn redeem(rows: &Writing, exchange: &Exchange, terms: Terms) -> Result<Outcome, Failure> {
    let key = exchange.code.hash();
    let Some(mut code) = rows.get::<Code>(key.bytes())? else {
        return Ok(invalid("code: unknown, used or over"));
    };
    if code.used {
        // Whoever was first may have been a thief: nothing that came of it is good any more.
        rows.remove::<Grant>(code.grant.as_bytes())?;
        tracing::warn!(client = %code.client, "a code was used twice; its tokens are revoked");
        return Ok(invalid("code: was used before; the tokens issued for it are revoked"));
    }
    code.used = true;
    rows.put(key.bytes(), &code)?;
    if let Err(reason) = fits(&code, exchange, terms.now) {
        return Ok(invalid(reason));
    }
    if users::active(rows, code.user)?.is_none() {
        return Ok(invalid("code: its user is disabled"));
    }
    let grant = Grant {
        user: code.user,
        client: code.client,
        name: code.name,
        resource: code.resource,
        scopes: code.scopes.clone(),
        created: terms.now,
        used: terms.now,
        ends: terms.now + terms.refresh,
    };
    issue(rows, code.grant, &grant, code.scopes, terms)
}

fn fits(code: &Code, exchange: &Exchange, now: Seconds) -> Result<(), &'static str> {
    if code.ends <= now {
        return Err("code: unknown, used or over");
    }
    if code.client != exchange.client {
        return Err("code: was issued to another client");
    }
    if exchange.redirect_uri.as_ref().is_some_and(|sent| *sent != code.redirect_uri) {
        return Err("redirect_uri: differs from the one of the authorization request");
    }
    if code.challenge != exchange.challenge {
        return Err("code_verifier: does not fit the code_challenge");
    }
    Ok(())
}

fn rotate(
    rows: &Writing,
    asked: &Refreshing,
    resource: &str,
    terms: Terms,
) -> Result<Outcome, Failure> {
    let key = asked.token.hash();
    let gone = || invalid("refresh_token: unknown, revoked or over");
    let Some(mut token) = rows.get::<Refresh>(key.bytes())? else { return Ok(gone()) };
    let Some(mut grant) = rows.get::<Grant>(token.grant.as_bytes())? else { return Ok(gone()) };
    if token.ends <= terms.now || grant.resource != resource {
        return Ok(gone());
    }
    if grant.client != asked.client {
        return Ok(invalid("refresh_token: was issued to another client"));
    }
    if users::active(rows, grant.user)?.is_none() {
        return Ok(invalid("refresh_token: its user is disabled"));
    }
    let Some(scopes) = narrowed(&grant, asked.scopes.as_ref()) else {
        return Ok(Outcome::Refused("invalid_scope", "scope: none of these was granted"));
    };
    if !may_use(&mut token, terms) {
        rows.remove::<Grant>(token.grant.as_bytes())?;
        tracing::warn!(client = %grant.client, "a refresh token was used again; its family is revoked");
        return Ok(invalid("refresh_token: was used before; all tokens of this login are revoked"));
    }
    rows.put(key.bytes(), &token)?;
    (grant.used, grant.ends) = (terms.now, terms.now + terms.refresh);
    issue(rows, token.grant, &grant, scopes, terms)
}

/// Marks a token as used. A second time is allowed within the grace: several processes of one client hold
/// the same token and refresh at nearly the same time.
fn may_use(token: &mut Refresh, terms: Terms) -> bool {
    let Some(used) = token.used else {
        token.used = Some(terms.now);
        return true;
    };
    token.again += 1;
    terms.grace > 0 && terms.now <= used + terms.grace && token.again <= AGAIN_MOST
}

/// The scopes of the next access token: what was granted, or the part of it that was asked for.
fn narrowed(grant: &Grant, asked: Option<&BTreeSet<Scope>>) -> Option<BTreeSet<Scope>> {
    let Some(asked) = asked else { return Some(grant.scopes.clone()) };
    let scopes: BTreeSet<_> = grant.scopes.intersection(asked).copied().collect();
    (!scopes.is_empty()).then_some(scopes)
}

fn issue(
    rows: &Writing,
    id: Uuid,
    grant: &Grant,
    scopes: BTreeSet<Scope>,
    terms: Terms,
) -> Result<Outcome, Failure> {
    let (access, refresh) = (Secret::new(Purpose::Access)?, Secret::new(Purpose::Refresh)?);
    let access_row = Access { grant: id, scopes: scopes.clone(), ends: terms.now + terms.access };
    let refresh_row = Refresh { grant: id, ends: grant.ends, used: None, again: 0 };
    rows.put(access.hash().bytes(), &access_row)?;
    rows.put(refresh.hash().bytes(), &refresh_row)?;
    rows.put(id.as_bytes(), grant)?;
    if let Some(mut client) = rows.get::<Registered>(grant.client.as_bytes())? {
        client.used = terms.now;
        rows.put(grant.client.as_bytes(), &client)?;
    }
    Ok(Outcome::Issued(Pair { access, refresh, scopes }))
}
